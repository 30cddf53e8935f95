import { type Static, Type } from 'typebox';

/** What accounts are told of, in the terms of Standard Webhooks (standardwebhooks.com): the `type` of a notice. */
export const webhookEvents = ['capture.completed', 'capture.failed', 'capture.refreshed'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** How a delivery stands: waiting for an event, trying, told, or given up. */
export const webhookStates = ['waiting', 'pending', 'delivered', 'failed'] as const;
export type WebhookState = (typeof webhookStates)[number];

/** The body of POST /webhooks/secret/rotate. */
export const rotateWebhookSecretSchema = Type.Object(
  {
    graceSeconds: Type.Integer({
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: 'For how long notices are signed with the secrets before it, too.',
    }),
  },
  { additionalProperties: false },
);
export type RotateWebhookSecret = Static<typeof rotateWebhookSecretSchema>;

/** What the notices to an account are signed with. */
export const webhookSecretSchema = Type.Object({
  secret: Type.String({
    description: 'whsec_ and the base64 of 32 bytes, as the Standard Webhooks libraries take it.',
  }),
  previous: Type.Array(
    Type.Object({
      secret: Type.String(),
      signsUntil: Type.String({ format: 'date-time' }),
    }),
    { description: 'Secrets that were rotated and still sign beside it, newest first.' },
  ),
});
export type WebhookSecretView = Static<typeof webhookSecretSchema>;
