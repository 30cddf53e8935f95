import { Type, type Static } from 'typebox';
import { captureStateSchema } from './capture.ts';
import { webhookEvents, type WebhookEvent } from './webhook.ts';

/** The body of a delivery: what happened to a capture, when, and how the capture stands at the time of sending. */
export const webhookPayloadSchema = Type.Object({
  type: Type.Unsafe<WebhookEvent>({ type: 'string', enum: [...webhookEvents] }),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the event.' }),
  data: captureStateSchema,
});
export type WebhookPayload = Static<typeof webhookPayloadSchema>;
