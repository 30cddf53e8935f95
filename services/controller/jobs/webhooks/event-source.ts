import { batchEvent, type WebhookEvent } from '@webcapture/shared/api/webhook.ts';
import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import { type BatchItem, batchSummary } from '@webcapture/shared/captures/batch-state.ts';
import type { Batches } from '@webcapture/shared/captures/batches.ts';
import type { CaptureRecord, DeliveryEntry, WebhookDelivery } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { isSuperseded, noteDelivery } from '@webcapture/shared/captures/transitions.ts';
import type { DeliveryTask } from '@webcapture/shared/queue/tasks.ts';
import { signBatchEvent, type SignedEvent, signEvent, type SigningOptions } from './event.ts';

export interface EventSourceDeps {
  readonly captures: Captures;
  readonly batches: Batches;
  readonly readItems: (batch: BatchRecord) => Promise<readonly BatchItem[]>;
  readonly cdnUrl: string;
}

/** The fields of a capture or batch that a delivery needs. */
export type EventRecord = Pick<CaptureRecord, 'account' | 'uuid' | 'webhook'>;

type EventTask = Pick<DeliveryTask, 'account' | 'uuid' | 'event' | 'revision' | 'occurredAt'>;

/** The record that an event is about. */
export interface EventSource {
  readonly record: EventRecord;
  /** Signs the event for one attempt. */
  sign(options: SigningOptions): Promise<SignedEvent>;
  /** Writes the state of the delivery, and the attempt, into the record. Returns the resulting record. */
  note(delivery: WebhookDelivery, attempt: DeliveryEntry): Promise<EventRecord | null>;
}

/** Returns null if the record does not exist, or its events are no longer delivered. */
export function eventSourceOf(task: EventTask, deps: EventSourceDeps): Promise<EventSource | null> {
  const { event } = task;
  return event === batchEvent ? batchSource(task, deps) : captureSource({ ...task, event }, deps);
}

async function captureSource(
  task: EventTask & { readonly event: WebhookEvent },
  { captures, cdnUrl }: EventSourceDeps,
): Promise<EventSource | null> {
  const { account, uuid, revision } = task;
  const record = (await captures.get(account, uuid))?.value;
  if (record === undefined || record.status === 'deleted') return null;
  return {
    record,
    sign: async (options) => signEvent(record, task, { ...options, cdnUrl }),
    note: (delivery, attempt) => captures.change({ account, uuid }, noteDelivery(revision, delivery, attempt)),
  };
}

/** The record of a batch contains no deliveries. GET /webhooks/deliveries lists them. */
async function batchSource(
  { account, uuid, occurredAt }: EventTask,
  { batches, readItems }: EventSourceDeps,
): Promise<EventSource | null> {
  const record = await batches.get(account, uuid);
  if (record === null) return null;
  const note = (delivery: WebhookDelivery) => (found: BatchRecord) =>
    found.webhook === undefined || isSuperseded(found.webhook, delivery) ? found : { ...found, webhook: delivery };
  return {
    record,
    sign: async (options) =>
      signBatchEvent(batchSummary(record, await readItems(record), options.now), occurredAt, options),
    note: (delivery) => batches.change(record, note(delivery)),
  };
}
