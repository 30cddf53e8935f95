import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';

/** Rights of a key: create captures; read captures and usage; manage the account's keys. */
export const scopes = ['capture', 'read', 'manage'] as const;
export type Scope = (typeof scopes)[number];

const scopeSchema = oneOf(scopes);

const nameSchema = Type.String({ pattern: '^(?=.*\\S)[^\\x00-\\x1f\\x7f]{1,200}$', examples: ['Build server'] });

const expirySchema = Type.Union([Type.String({ description: 'ISO 8601 date-time in the future.' }), Type.Null()], {
  examples: ['2030-01-31T00:00:00Z'],
  description: 'Time at which the key expires, or null if it does not expire.',
});

const newKeyFields = {
  name: nameSchema,
  scopes: Type.Optional(
    Type.Array(scopeSchema, {
      minItems: 1,
      maxItems: 10,
      description:
        'Scopes of the key. Defaults to capture and read; the first key that an operator creates for an account has all scopes.',
    }),
  ),
  expiresAt: Type.Optional(expirySchema),
};

/** The body of POST /keys. */
export const createKeySchema = Type.Object(newKeyFields, { additionalProperties: false });
export type CreateKey = Static<typeof createKeySchema>;

/** The body of POST /admin/keys. */
export const createAccountKeySchema = Type.Object(
  { accountId: Type.String({ minLength: 1, maxLength: 64 }), ...newKeyFields },
  { additionalProperties: false },
);
export type CreateAccountKey = Static<typeof createAccountKeySchema>;

/** The body of POST /keys/{id}/rotate. */
export const rotateKeySchema = Type.Object(
  {
    graceSeconds: Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      default: 3600,
      description: 'Seconds for which the old key keeps working.',
    }),
  },
  { additionalProperties: false },
);
export type RotateKey = Static<typeof rotateKeySchema>;

/** The query of DELETE /keys/{id}. In a query string every value is a string. */
export const revokeKeyQuerySchema = Type.Object(
  {
    cascade: Type.Optional(
      oneOf(['true', 'false'], {
        default: 'false',
        description: 'Whether to revoke also the keys that were created with this key, and with those, and so on.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type RevokeKeyQuery = Static<typeof revokeKeyQuerySchema>;

const keyFields = {
  id: Type.String(),
  accountId: Type.String(),
  name: Type.String(),
  scopes: Type.Array(scopeSchema),
  status: oneOf(['active', 'expired', 'revoked']),
  createdAt: Type.String({ format: 'date-time' }),
  createdBy: Type.Union([Type.String(), Type.Null()], {
    description:
      'ID of the API key that created or rotated this one; null if the operator created it, or if it was created before this was recorded.',
  }),
  expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  revokedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
};

/** The view of an API key, without the key itself. */
export const keySchema = Type.Object(keyFields);
export type KeyView = Static<typeof keySchema>;

/** A revoked key, and the keys that were revoked with it. */
export const revokedKeySchema = Type.Object({
  ...keyFields,
  alsoRevoked: Type.Optional(
    Type.Array(Type.String(), { description: 'With cascade: IDs of the other keys that this request revoked.' }),
  ),
  isComplete: Type.Optional(
    Type.Boolean({
      description: 'With cascade: false when there were too many keys for one request. Send the request again.',
    }),
  ),
});
export type RevokedKeyView = Static<typeof revokedKeySchema>;

/** A new key. Only this response contains the key itself. */
export const newKeySchema = Type.Object({
  ...keyFields,
  key: Type.String({ description: 'The API key. It is shown only once.' }),
});
export type NewKeyView = Static<typeof newKeySchema>;
