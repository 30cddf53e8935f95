import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';

/**
 * How captures of an account are isolated. `context`: captures share a browser, in separate contexts. `browser`: each
 * capture has a separate browser. `account`: like `context`, but a capture may reuse the page of an earlier capture of
 * the same account after its data was cleared.
 */
const isolations = ['context', 'browser', 'account'] as const;
export type Isolation = (typeof isolations)[number];

/** Upper bound of the limits for bytes: 1 PB. */
export const maxByteLimit = 1e15;

const byteLimit = (description: string) => Type.Integer({ minimum: 0, maximum: maxByteLimit, description });

const limitSchemas = {
  tokenQuota: Type.Integer({
    minimum: 0,
    maximum: 1e12,
    description: 'Tokens that the account may use in a calendar month (UTC).',
  }),
  ratePerMinute: Type.Integer({ minimum: 1, maximum: 1e6, description: 'Requests to POST /capture per minute.' }),
  burst: Type.Integer({
    minimum: 1,
    maximum: 1e6,
    description: 'Requests that may be sent at once before the rate applies. Defaults to ratePerMinute.',
  }),
  maxInFlight: Type.Integer({
    minimum: 1,
    maximum: 1e6,
    description: 'Maximum number of captures that clients may wait for at the same time.',
  }),
  maxQueued: Type.Integer({
    minimum: 0,
    maximum: 1e7,
    description: 'Maximum number of background captures that have not ended.',
  }),
  maxQueuedBytes: byteLimit('Maximum bytes of HTML of background captures that have not ended.'),
  maxStoredBytes: byteLimit('Maximum bytes of files that expire.'),
  maxPersistedBytes: byteLimit(
    'Maximum bytes of files of captures with persistence, and of the HTML that is kept with them.',
  ),
};

const isolationSchema = oneOf(isolations, {
  description:
    'Isolation from the captures of other accounts. `context` (default): captures share browsers, and each capture has its own browser context with its own cookies, storage, cache and connections. `browser`: each capture has its own browser, whose processes end with the capture. `browser` takes up to a second and about 150 MB more for each capture. `account`: as `context`, but a capture may reuse the page of an earlier capture of the same account after cookies and storage were wiped, while the HTTP cache stays; it makes small pages about a third cheaper, and is for accounts that render their own templates.',
});

const allowIgnoreTlsErrorsSchema = Type.Boolean({
  description:
    'Whether requests of the account may set ignoreTlsErrors, if the service allows it, too (WEBCAPTURE_ALLOW_IGNORE_TLS_ERRORS). Default: false.',
});

const nameSchema = Type.String({ pattern: '^(?=.*\\S)[^\\x00-\\x1f\\x7f]{1,200}$', examples: ['Example Ltd'] });

const optionalLimits = {
  tokenQuota: Type.Optional(limitSchemas.tokenQuota),
  ratePerMinute: Type.Optional(limitSchemas.ratePerMinute),
  burst: Type.Optional(limitSchemas.burst),
  maxInFlight: Type.Optional(limitSchemas.maxInFlight),
  maxQueued: Type.Optional(limitSchemas.maxQueued),
  maxQueuedBytes: Type.Optional(limitSchemas.maxQueuedBytes),
  maxStoredBytes: Type.Optional(limitSchemas.maxStoredBytes),
  maxPersistedBytes: Type.Optional(limitSchemas.maxPersistedBytes),
};

/** The body of POST /admin/accounts. Omitted limits default to those of the operator. */
export const createAccountSchema = Type.Object(
  {
    name: nameSchema,
    ...optionalLimits,
    isolation: Type.Optional(isolationSchema),
    allowIgnoreTlsErrors: Type.Optional(allowIgnoreTlsErrorsSchema),
  },
  { additionalProperties: false },
);

export type CreateAccount = Static<typeof createAccountSchema>;

/** The body of PATCH /admin/accounts/{id}. Omitted fields stay unchanged. */
export const changeAccountSchema = Type.Object(
  {
    name: Type.Optional(nameSchema),
    ...optionalLimits,
    isolation: Type.Optional(isolationSchema),
    allowIgnoreTlsErrors: Type.Optional(allowIgnoreTlsErrorsSchema),
    suspended: Type.Optional(
      Type.Boolean({
        description: 'Whether the account is suspended. The API keys of a suspended account are refused.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);

export type ChangeAccount = Static<typeof changeAccountSchema>;

/** The view of an account for operators. */
export const accountSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  ...limitSchemas,
  isolation: isolationSchema,
  allowIgnoreTlsErrors: allowIgnoreTlsErrorsSchema,
  suspended: Type.Boolean(),
  suspendedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});

export type AccountView = Static<typeof accountSchema>;

/** The `data` of GET /usage. */
export const usageSchema = Type.Object({
  tokensUsed: Type.Integer({
    minimum: 0,
    description: 'Tokens charged for the completed captures and refreshes of the period.',
  }),
  tokensReserved: Type.Integer({
    minimum: 0,
    description: 'Tokens reserved for background captures and refreshes that have not ended.',
  }),
  tokenQuota: limitSchemas.tokenQuota,
  periodStart: Type.String({
    format: 'date-time',
    description: 'Start of the period: the first instant of the calendar month (UTC).',
  }),
  periodEnd: Type.String({
    format: 'date-time',
    description: 'End of the period: the first instant of the next calendar month (UTC).',
  }),
  ratePerMinute: limitSchemas.ratePerMinute,
  inFlight: Type.Integer({ minimum: 0, description: 'Captures that clients are waiting for.' }),
  queued: Type.Integer({ minimum: 0, description: 'Background captures and refreshes that have not ended.' }),
  queuedBytes: Type.Integer({ minimum: 0, description: 'Bytes of HTML of background captures that have not ended.' }),
  maxQueuedBytes: limitSchemas.maxQueuedBytes,
  storedBytes: Type.Integer({ minimum: 0, description: 'Bytes of files that expire.' }),
  maxStoredBytes: limitSchemas.maxStoredBytes,
  persistedBytes: Type.Integer({
    minimum: 0,
    description: 'Bytes of files of captures with persistence, and of the HTML that is kept with them.',
  }),
  maxPersistedBytes: limitSchemas.maxPersistedBytes,
  embeddedBytes: Type.Integer({
    minimum: 0,
    description:
      'Bytes that the account stores in NATS: all of the above, or only HTML where the service keeps files in a bucket.',
  }),
  maxEmbeddedBytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Maximum of embeddedBytes: the share of the store that one account may use. Null: there is none.',
  }),
});

export type UsageView = Static<typeof usageSchema>;

/** Account of the service's own captures. They cost nothing and have no record. */
export const systemAccount = 'system';
