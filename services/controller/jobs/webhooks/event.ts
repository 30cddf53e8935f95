import { Webhook } from 'standardwebhooks';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureView } from '@webcapture/shared/captures/view.ts';
import type { BatchSummary } from '@webcapture/shared/api/batch.ts';
import type { BatchPayload, TestPayload, WebhookPayload } from '@webcapture/shared/api/webhook-event.ts';
import { batchEvent, testEvent, type WebhookEvent } from '@webcapture/shared/api/webhook.ts';
import type { DeliveryTask, TestTask } from '@webcapture/shared/queue/tasks.ts';
import { messageId } from '@webcapture/shared/queue/tasks.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';

/** An event of a capture (revision 0), or of the refresh with that revision. */
interface CaptureEvent extends Pick<DeliveryTask, 'revision' | 'occurredAt'> {
  readonly event: WebhookEvent;
}

/** A signed event, ready to send. */
export interface SignedEvent {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of a {@link WebhookPayload}, {@link BatchPayload} or {@link TestPayload}. */
  readonly body: string;
}

/**
 * Builds and signs the request that delivers an event, as Standard Webhooks specifies. The id is the same in all attempts, so that a
 * receiver detects duplicates. Time and signatures belong to this attempt, and `data` is the current state of the capture.
 *
 * @param options.now the time of this delivery attempt, Unix milliseconds
 * @param options.secrets the signing secrets; at least one
 */
export function signEvent(
  record: CaptureRecord,
  event: CaptureEvent,
  { cdnUrl, ...options }: SigningOptions & { readonly cdnUrl: string },
): SignedEvent {
  const content: WebhookPayload = {
    type: event.event,
    timestamp: new Date(event.occurredAt).toISOString(),
    data: captureView(record, { cdnUrl, now: options.now }),
  };
  return signed(messageId(record.uuid, event.revision), content, options);
}

/** Like {@link signEvent}, for the event of a batch. */
export function signBatchEvent(data: BatchSummary, occurredAt: number, options: SigningOptions): SignedEvent {
  const content: BatchPayload = { type: batchEvent, timestamp: new Date(occurredAt).toISOString(), data };
  return signed(messageId(data.id, 0), content, options);
}

/** Like {@link signEvent}, for a test event without a capture. */
export function signTest(
  { uuid, url, occurredAt }: Pick<TestTask, 'uuid' | 'url' | 'occurredAt'>,
  options: SigningOptions,
) {
  const timestamp = new Date(occurredAt).toISOString();
  const content: TestPayload = { type: testEvent, timestamp, data: { url } };
  return signed(messageId(uuid, 0), content, options);
}

export interface SigningOptions {
  readonly now: number;
  readonly secrets: readonly string[];
}

function signed(id: string, content: object, { now, secrets }: SigningOptions): SignedEvent {
  const body = JSON.stringify(content);
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, new Date(now), body));
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': `webcapture/${version}`,
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now / 1000)),
      'webhook-signature': signatures.join(' '),
    },
    body,
  };
}
