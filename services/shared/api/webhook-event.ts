import { Type, type Static } from 'typebox';
import { captureStateSchema } from './capture.ts';
import { testEvent, webhookEvents, type WebhookEvent } from './webhook.ts';

/** The body of a delivery: the event, its time, and the state of the capture at the time of sending. */
export const webhookPayloadSchema = Type.Object({
  type: Type.Unsafe<WebhookEvent>({ type: 'string', enum: [...webhookEvents] }),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the event.' }),
  data: captureStateSchema,
});
export type WebhookPayload = Static<typeof webhookPayloadSchema>;

/** The body of a test event. */
export const testPayloadSchema = Type.Object({
  type: Type.Literal(testEvent),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the request for the test.' }),
  data: Type.Object({ url: Type.String({ description: 'Address that the event was sent to.' }) }),
});
export type TestPayload = Static<typeof testPayloadSchema>;
