import { type Static, Type } from 'typebox';

/**
 * What the captures of an account share with others: `context`, a browser, in which each has a context of its own;
 * `browser`, nothing: each has a browser of its own.
 */
const isolations = ['context', 'browser'] as const;
export type Isolation = (typeof isolations)[number];

const limitSchemas = {
  tokenQuota: Type.Integer({ minimum: 0, maximum: 1e12, description: 'Tokens of a calendar month in UTC.' }),
  ratePerMinute: Type.Integer({ minimum: 1, maximum: 1e6, description: 'POST /capture requests a minute.' }),
  burst: Type.Integer({
    minimum: 1,
    maximum: 1e6,
    description: 'Requests that may come at once after a quiet time. By default as many as ratePerMinute.',
  }),
  maxInFlight: Type.Integer({ minimum: 1, maximum: 1e6, description: 'Captures that clients wait for at once.' }),
  maxQueued: Type.Integer({ minimum: 0, maximum: 1e7, description: 'Background captures that have not ended.' }),
};

const isolationSchema = Type.Unsafe<Isolation>({
  type: 'string',
  enum: [...isolations],
  description:
    'What the captures of the account share with those of others. `context`, the default: a browser, in which each capture has a context of its own, with its own cookies, storage, cache and connections. `browser`: nothing; each capture has a browser of its own, all of whose processes end with it. That takes up to a second more and about 150 MB for each capture.',
});

const nameSchema = Type.String({ pattern: '^(?=.*\\S)[^\\x00-\\x1f\\x7f]{1,200}$', examples: ['Example Ltd'] });

const optionalLimits = {
  tokenQuota: Type.Optional(limitSchemas.tokenQuota),
  ratePerMinute: Type.Optional(limitSchemas.ratePerMinute),
  burst: Type.Optional(limitSchemas.burst),
  maxInFlight: Type.Optional(limitSchemas.maxInFlight),
  maxQueued: Type.Optional(limitSchemas.maxQueued),
};

/** The body of POST /admin/accounts; limits that are left out are the operator's defaults. */
export const createAccountSchema = Type.Object(
  { name: nameSchema, ...optionalLimits, isolation: Type.Optional(isolationSchema) },
  { additionalProperties: false },
);

export type CreateAccount = Static<typeof createAccountSchema>;

/** The body of PATCH /admin/accounts/{id}: only what it names changes. */
export const changeAccountSchema = Type.Object(
  {
    name: Type.Optional(nameSchema),
    ...optionalLimits,
    isolation: Type.Optional(isolationSchema),
    suspended: Type.Optional(Type.Boolean({ description: 'A suspended account can do nothing until it is resumed.' })),
  },
  { additionalProperties: false },
);

export type ChangeAccount = Static<typeof changeAccountSchema>;

/** An account as its operator sees it. */
export const accountSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  ...limitSchemas,
  isolation: isolationSchema,
  suspended: Type.Boolean(),
  suspendedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});

export type AccountView = Static<typeof accountSchema>;

/** The `data` of GET /usage. */
export const usageSchema = Type.Object({
  tokensUsed: Type.Integer({ minimum: 0, description: 'Tokens of completed captures of the period.' }),
  tokensReserved: Type.Integer({
    minimum: 0,
    description: 'Tokens set aside for background captures and refreshes that have not ended.',
  }),
  tokenQuota: limitSchemas.tokenQuota,
  periodStart: Type.String({ format: 'date-time', description: 'The first instant of the month in UTC.' }),
  periodEnd: Type.String({ format: 'date-time', description: 'The first instant of the next period.' }),
  ratePerMinute: limitSchemas.ratePerMinute,
  inFlight: Type.Integer({ minimum: 0, description: 'Captures that clients wait for right now.' }),
  queued: Type.Integer({ minimum: 0, description: 'Background captures and refreshes that have not ended.' }),
});

export type UsageView = Static<typeof usageSchema>;

/** Whom the service's own captures belong to. They cost nothing and have no record. */
export const systemAccount = 'system';
