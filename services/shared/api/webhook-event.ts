import { Type, type Static } from 'typebox';
import { captureStateSchema } from './capture.ts';
import { oneOf } from './one-of.ts';
import { testEvent, webhookEvents } from './webhook.ts';

/** The body of a delivery: the event, its time, and the state of the capture at the time of sending. */
export const webhookPayloadSchema = Type.Object({
  type: oneOf(webhookEvents),
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
