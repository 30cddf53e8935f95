import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';
import { deliveryEvents } from './webhook.ts';

/** Outcome of a delivery attempt: delivered, to be retried, or failed for the last time. */
const deliveryStates = ['delivered', 'retrying', 'failed'] as const;

/** One attempt to deliver an event to a webhook. */
export const deliverySchema = Type.Object({
  uuid: Type.Union([Type.String({ format: 'uuid' }), Type.Null()], {
    description: 'UUID of the capture, or ID of the batch; null for a test event.',
  }),
  url: Type.String({
    description: 'URL of the webhook; lists of an account contain at most its first 200 characters.',
  }),
  event: oneOf(deliveryEvents),
  revision: Type.Integer({
    minimum: 0,
    description: 'What the event is about: 0 for the capture itself, otherwise the number of the refresh.',
  }),
  attempt: Type.Integer({ minimum: 1, description: 'Number of the attempt, from 1.' }),
  at: Type.String({ format: 'date-time', description: 'Start of the attempt.' }),
  state: oneOf(deliveryStates, {
    description: 'delivered; retrying: there will be another attempt; failed: there will be no further attempt.',
  }),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'HTTP status of the response; null if there was none.',
  }),
  error: Type.Union([Type.String(), Type.Null()], { description: 'Why the attempt failed.' }),
  durationMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Duration of the attempt; null if nothing was sent.',
  }),
});
export type Delivery = Static<typeof deliverySchema>;

/** Number of delivery attempts that are kept for each account. */
export const maxDeliveries = 100;

export const deliveriesQuerySchema = Type.Object(
  {
    limit: Type.Integer({
      minimum: 1,
      maximum: maxDeliveries,
      default: 50,
      description: 'Maximum number of delivery attempts to return.',
    }),
  },
  { additionalProperties: false },
);
export type DeliveriesQuery = Static<typeof deliveriesQuerySchema>;

/** The `data` of GET /webhooks/deliveries. */
export const deliveriesSchema = Type.Object({
  deliveries: Type.Array(deliverySchema, { description: 'Newest first.' }),
});

/** The body of POST /webhooks/test. */
export const testWebhookSchema = Type.Object(
  {
    url: Type.String({
      maxLength: 2048,
      examples: ['https://app.example.com/hook'],
      description: 'Absolute http or https URL to send the event to.',
    }),
  },
  { additionalProperties: false },
);
export type TestWebhook = Static<typeof testWebhookSchema>;

/** The `data` of POST /webhooks/test. */
export const sentTestSchema = Type.Object({
  id: Type.String({ description: 'The webhook-id of the event.' }),
});
