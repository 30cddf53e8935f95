import { Type, type Static } from 'typebox';
import { batchSummarySchema } from './batch.ts';
import { captureStateSchema } from './capture.ts';
import { oneOf } from './one-of.ts';
import { batchEvent, testEvent, webhookEvents } from './webhook.ts';

/** The body of a delivery: the event, its time, and the state of the capture when the body is sent. */
export const webhookPayloadSchema = Type.Object({
  type: oneOf(webhookEvents),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the event.' }),
  data: captureStateSchema,
});
export type WebhookPayload = Static<typeof webhookPayloadSchema>;

/** The body of the event of a batch: the state of the batch when the body is sent, without its captures. */
export const batchPayloadSchema = Type.Object({
  type: Type.Literal(batchEvent),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the event.' }),
  data: batchSummarySchema,
});
export type BatchPayload = Static<typeof batchPayloadSchema>;

/** The body of a test event. */
export const testPayloadSchema = Type.Object({
  type: Type.Literal(testEvent),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the request for the test.' }),
  data: Type.Object({ url: Type.String({ description: 'Address that the event was sent to.' }) }),
});
export type TestPayload = Static<typeof testPayloadSchema>;
