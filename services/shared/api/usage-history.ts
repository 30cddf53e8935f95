import { type Static, Type } from 'typebox';

export const usageHistoryQuerySchema = Type.Object(
  {
    days: Type.Integer({
      minimum: 1,
      maximum: 90,
      default: 30,
      description: 'Number of days (UTC), up to and including today.',
    }),
  },
  { additionalProperties: false },
);
export type UsageHistoryQuery = Static<typeof usageHistoryQuerySchema>;

export const usageCounts = {
  tokens: Type.Integer({ minimum: 0, description: 'Tokens charged for captures and refreshes that completed.' }),
  completed: Type.Integer({ minimum: 0, description: 'Captures and refreshes that completed.' }),
  failed: Type.Integer({ minimum: 0, description: 'Captures and refreshes that failed.' }),
  cached: Type.Integer({ minimum: 0, description: 'Requests that were answered from the cache.' }),
};

const milliseconds = Type.Integer({ minimum: 0 });

const latencySchema = Type.Union(
  [Type.Object({ p50: milliseconds, p90: milliseconds, p99: milliseconds }), Type.Null()],
  {
    description:
      'Percentiles of the duration of captures and refreshes that completed, within 5%: from the acceptance to the end; of background captures and refreshes without the wait in the queue. Null if none completed.',
  },
);

/** The `data` of GET /usage/history. */
export const usageHistorySchema = Type.Object({
  days: Type.Array(Type.Object({ date: Type.String({ format: 'date' }), ...usageCounts, latencyMs: latencySchema }), {
    description:
      'Days in UTC from the oldest to today, those without use included. Captures count on the day on which they end.',
  }),
  keys: Type.Array(
    Type.Object({
      id: Type.String({ description: 'ID of the API key, or other for all keys beyond the first 100 of a day.' }),
      name: Type.String(),
      ...usageCounts,
    }),
    {
      description:
        'API keys that were used, those with the most tokens first, at most 101. Refreshes belong to no key.',
    },
  ),
  totals: Type.Object({
    ...usageCounts,
    successRate: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
      description: 'Completed captures and refreshes over all that ended; null if none ended.',
    }),
    latencyMs: latencySchema,
  }),
});
export type UsageHistoryView = Static<typeof usageHistorySchema>;
