import { createHash } from 'node:crypto';
import type { CaptureFailure, CaptureOutcome, CaptureRecord } from '../contract/capture-record.ts';
import { delay } from '../lifecycle/delay.ts';
import { isTransient, isWriteConflict } from '../nats/api-errors.ts';
import { commitBatch } from '../nats/atomic-batch.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';
import { timeOfUuid } from './uuid.ts';
import { difference, noUsage, sum, usageKey, usageOf, type Usage } from './usage.ts';

const attempts = 50;

/** The records of captures, and the one place where a capture ends and is charged. */
export class Captures {
  readonly #session: NatsSession;
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  async create(record: CaptureRecord): Promise<void> {
    await this.#db.create(captureKey(record.account, record.uuid), record);
  }

  /** The record, or null when the account has no capture of that uuid. */
  async get(account: string, uuid: string): Promise<Entry<CaptureRecord> | null> {
    if (timeOfUuid(uuid) === null) return null;
    return this.#db.get<CaptureRecord>(captureKey(account, uuid));
  }

  /**
   * Marks a queued capture as being rendered. Returns the record as it stands afterwards: another status than
   * `rendering` means that there is nothing to do (cancelled, already ended); null that there is no record.
   */
  async begin(account: string, uuid: string): Promise<CaptureRecord | null> {
    return this.#change(account, uuid, (record) =>
      record.status === 'queued' ? { ...record, status: 'rendering' } : null,
    );
  }

  /**
   * Ends a capture as completed, and charges it. `expiresAt` is that of the stored file. However many renderers finish
   * a capture, it completes once. Returns the record that stands afterwards.
   */
  async complete(
    account: string,
    uuid: string,
    outcome: CaptureOutcome,
    expiresAt: number,
  ): Promise<CaptureRecord | null> {
    return this.#change(account, uuid, (record) =>
      isOpen(record) ? { ...record, status: 'completed', outcome, expiresAt, endedAt: Date.now() } : null,
    );
  }

  /** Ends an open capture as failed, uncharged. Returns the record that stands afterwards. */
  async fail(account: string, uuid: string, failure: CaptureFailure): Promise<CaptureRecord | null> {
    return this.#change(account, uuid, (record) =>
      isOpen(record) ? { ...record, status: 'failed', failure, endedAt: Date.now() } : null,
    );
  }

  /** As `fail`, but only while nobody has begun to render it. */
  async cancelQueued(account: string, uuid: string, failure: CaptureFailure): Promise<CaptureRecord | null> {
    return this.#change(account, uuid, (record) =>
      record.status === 'queued' ? { ...record, status: 'failed', failure, endedAt: Date.now() } : null,
    );
  }

  /** Forgets a capture altogether: for test captures of the service itself, which nobody is to see. */
  async remove(account: string, uuid: string): Promise<void> {
    await this.#db.delete(captureKey(account, uuid));
  }

  /** Compare-and-set until it holds; `next` answers null to leave the record as it is. */
  async #change(
    account: string,
    uuid: string,
    next: (record: CaptureRecord) => CaptureRecord | null,
  ): Promise<CaptureRecord | null> {
    for (let attempt = 1; ; attempt++) {
      const found = await this.get(account, uuid);
      const wanted = found === null ? null : next(found.value);
      if (found === null || wanted === null) return found?.value ?? null;
      try {
        await this.#write(found, wanted);
        return wanted;
      } catch (error) {
        // After a time-out the write may have been done; the next reading tells.
        if (!(isWriteConflict(error) || isTransient(error)) || attempt >= attempts) throw error;
        await delay(Math.random() * attempt * 4);
      }
    }
  }

  /** Writes a record, and in the same atomic batch what the change means for the account's usage. */
  async #write(found: Entry<CaptureRecord>, wanted: CaptureRecord): Promise<void> {
    const { account, uuid, acceptedAt } = wanted;
    const key = captureKey(account, uuid);
    const charge = difference(usageOf(wanted), usageOf(found.value));
    if (charge === null) {
      await this.#db.update(key, wanted, found.revision);
      return;
    }
    const shardKey = usageKey(account, acceptedAt, uuid);
    const shard = await this.#db.get<Usage>(shardKey);
    const usage = sum(shard?.value ?? noUsage, charge);
    await commitBatch(this.#session.nc, [
      { subject: this.#db.subject(shardKey), data: JSON.stringify(usage), expectedSequence: shard?.revision ?? 0 },
      { subject: this.#db.subject(key), data: JSON.stringify(wanted), expectedSequence: found.revision },
    ]);
  }
}

/** Whether a capture has still to end. */
export function isOpen(record: CaptureRecord): boolean {
  return record.status === 'queued' || record.status === 'rendering';
}

/** `capture.<account>.<yyyymmdd>.<uuid>`: the day is the one that the UUIDv7 itself tells. */
export function captureKey(account: string, uuid: string): string {
  return capturesOfDay(account, timeOfUuid(uuid) ?? 0) + uuid;
}

/** What the keys of an account's captures of one day in UTC begin with; any `time` (Unix ms) of that day. */
export function capturesOfDay(account: string, time: number): string {
  const day = new Date(time).toISOString().slice(0, 10).replaceAll('-', '');
  return `capture.${account}.${day}.`;
}

/** The background shard of an account: its captures wait in one of `shards` queues. */
export function backgroundShardOf(account: string, shards: number): number {
  return createHash('sha256').update(account).digest().readUInt32BE(0) % shards;
}
