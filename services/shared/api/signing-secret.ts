import { type Static, Type } from 'typebox';

/** The body of POST /keys/{id}/signing-secret. */
export const rotateSigningSecretSchema = Type.Object(
  {
    graceSeconds: Type.Integer({
      minimum: 0,
      maximum: 2_592_000,
      default: 86_400,
      description: 'Seconds for which links that are signed with earlier secrets keep working.',
    }),
  },
  { additionalProperties: false },
);
export type RotateSigningSecret = Static<typeof rotateSigningSecretSchema>;

/** A new signing secret. Only this response contains it. */
export const newSigningSecretSchema = Type.Object({
  keyId: Type.String({ description: 'ID of the API key: the parameter key of links.' }),
  secret: Type.String({
    description: 'Signing secret: wcs_ followed by 32 base64url-encoded bytes. It is shown only once.',
  }),
  previousUntil: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Time until which links of earlier secrets work, or null if they no longer work.',
  }),
});
export type NewSigningSecret = Static<typeof newSigningSecretSchema>;
