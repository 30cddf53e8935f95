import { batchEvent } from '../api/webhook.ts';
import type { ErrorCode } from '../runtime/errors.ts';
import type { WebhookDelivery } from './capture-record.ts';

/** Why a capture of a batch was not accepted. */
export interface BatchRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A batch: its captures, in the order of the requests. Their states are in their own records. All times are Unix milliseconds. */
export interface BatchRecord {
  /** A UUIDv7 of the time of the request. */
  readonly uuid: string;
  readonly account: string;
  /** UUIDs of the captures. They are chosen before the first capture is queued, so that a repeated request queues no capture twice. */
  readonly captures: readonly string[];
  /** Indexes of those captures that the response cache provided. Absent if there are none. */
  readonly cached?: readonly number[];
  /** When the last capture was queued. Absent while a front queues captures, and if that front has died. */
  readonly acceptedAt?: number;
  /** Time after which no capture of the batch is queued. */
  readonly acceptUntil: number;
  /** Captures that could not be queued, by index. */
  readonly refused?: Readonly<Record<number, BatchRefusal>>;
  readonly webhook?: WebhookDelivery;
  /** When the record is removed. */
  readonly keepUntil: number;
}

/** Begins the delivery of the event for the end of a batch, unless it has begun. */
export const endBatch =
  (occurredAt: number) =>
  (record: BatchRecord): BatchRecord => {
    const { webhook } = record;
    if (webhook?.state !== 'waiting') return record;
    const pending = { state: 'pending', event: batchEvent, revision: 0, occurredAt, attempts: 0 } as const;
    return { ...record, webhook: { url: webhook.url, ...pending } };
  };

/** Whether no further capture is queued. */
export const isAccepted = ({ acceptedAt, acceptUntil }: BatchRecord, now: number): boolean =>
  acceptedAt !== undefined || now > acceptUntil;
