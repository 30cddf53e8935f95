import { Webhook } from 'standardwebhooks';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureView } from '@webcapture/shared/captures/view.ts';
import type { WebhookPayload } from '@webcapture/shared/api/webhook-event.ts';
import type { TaskOf } from '@webcapture/shared/queue/tasks.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';

/** Something that happened to a capture (revision 0), or to its refresh of that number. */
type CaptureEvent = Pick<TaskOf<'webhook'>, 'event' | 'revision' | 'occurredAt'>;

/** An event as it is sent. */
export interface SignedEvent {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of a {@link WebhookPayload}. */
  readonly body: string;
}

/**
 * Builds and signs the request that delivers an event, as Standard Webhooks has it. Its id is the same in all attempts, so that
 * a receiver recognizes an event that it has had; time and signatures are those of this attempt, and `data` is the capture as
 * it stands.
 *
 * @param options.now the time of this delivery attempt, Unix milliseconds
 * @param options.secrets all that it is signed with; at least one
 */
export function signEvent(
  record: CaptureRecord,
  event: CaptureEvent,
  { cdnUrl, now, secrets }: { readonly cdnUrl: string; readonly now: number; readonly secrets: readonly string[] },
): SignedEvent {
  const id = messageId(record.uuid, event.revision);
  const content: WebhookPayload = {
    type: event.event,
    timestamp: new Date(event.occurredAt).toISOString(),
    data: captureView(record, { cdnUrl, now }),
  };
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

/** It has no full stop: in what is signed, that ends the id. */
const messageId = (uuid: string, refreshNumber: number) => `msg_${uuid}_${refreshNumber}`;
