import { type Static, Type } from 'typebox';

/** What accounts are told of, in the terms of Standard Webhooks (standardwebhooks.com): the `type` of a notice. */
export const webhookEvents = ['capture.completed', 'capture.failed', 'capture.refreshed'] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** The event by which an account holder tries a webhook. */
export const testEvent = 'webhook.test';

/** All that is sent to webhooks. */
export const deliveryEvents = [...webhookEvents, testEvent] as const;

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
      description: 'Seconds for which events are also signed with the earlier secrets.',
    }),
  },
  { additionalProperties: false },
);
export type RotateWebhookSecret = Static<typeof rotateWebhookSecretSchema>;

/** What the notices to an account are signed with. */
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
