import { type Static, Type } from 'typebox';

/** Events of captures: the `type` of a Standard Webhooks event (standardwebhooks.com). */
export const webhookEvents = ['capture.completed', 'capture.failed', 'capture.refreshed', 'capture.changed'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** The event of a batch. */
export const batchEvent = 'batch.completed';

/** Events that a record stores: those of captures and batches. */
export const recordEvents = [...webhookEvents, batchEvent] as const;
export type RecordEvent = (typeof recordEvents)[number];

/** The event for tests of a webhook. */
export const testEvent = 'webhook.test';

/** All events that are sent to webhooks. */
export const deliveryEvents = [...recordEvents, testEvent] as const;

/** States of a delivery: no event yet, in progress, delivered, or failed. */
export const webhookStates = ['waiting', 'pending', 'delivered', 'failed'] as const;
export type WebhookState = (typeof webhookStates)[number];

/** The body of POST /webhooks/secret/rotate. */
export const rotateWebhookSecretSchema = Type.Object(
  {
    graceSeconds: Type.Integer({
      minimum: 0,
      maximum: 604_800,
      default: 86_400,
      description: 'Seconds for which events are also signed with the earlier secrets.',
    }),
  },
  { additionalProperties: false },
);
export type RotateWebhookSecret = Static<typeof rotateWebhookSecretSchema>;

/** Secrets that sign the events of an account. */
export const webhookSecretSchema = Type.Object({
  secret: Type.String({
    description:
      'Webhook secret: whsec_ followed by 32 base64-encoded bytes, as Standard Webhooks libraries expect it.',
  }),
  previous: Type.Array(
    Type.Object({
      secret: Type.String(),
      signsUntil: Type.String({ format: 'date-time' }),
    }),
    { description: 'Rotated secrets that still sign events, newest first.' },
  ),
});
export type WebhookSecretView = Static<typeof webhookSecretSchema>;
