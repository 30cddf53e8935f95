import { createHash } from 'node:crypto';
import type { CaptureFailure, CaptureOutcome, CaptureRecord } from '../contract/capture-record.ts';
import { delay } from '../lifecycle/delay.ts';
import { isTransient, isWriteConflict } from '../nats/api-errors.ts';
import { commitBatch, type BatchWrite } from '../nats/atomic-batch.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry, type Reading } from '../nats/entries.ts';
import { begin, cancelQueued, complete, fail, type Transition } from './transitions.ts';
import { difference, noUsage, sum, usageKey, usageOf, type Usage } from './usage.ts';
import { timeOfUuid } from './uuid.ts';

/** A capture, or with a `revision` its refresh of that number: a job or a record is one too. */
export interface CaptureRef {
  readonly account: string;
  readonly uuid: string;
  readonly revision?: number;
}

const attempts = 50;

/** A replica lags by a moment: within a second it is asked five times. */
const lagAttempts = 5;
const lagDelayMs = 100;

/** Records that this process has begun to render and not ended yet: more than any renderer has slots. */
const mostBegun = 1000;

/** A record without a file is kept for so long, for the books and for whoever asks: 90 days. */
const retentionSeconds = 90 * 86_400;

/** The records of captures, and the one place where they change and where captures are charged. */
export class Captures {
  readonly #session: NatsSession;
  readonly #reading: Reading;
  readonly #db: Entries;
  /** As `begin` wrote them: what ends a capture mostly finds its record so, and need not read it again. */
  readonly #begun = new Map<string, Entry<CaptureRecord>>();

  constructor(session: NatsSession, reading: Reading = 'from-leader') {
    this.#session = session;
    this.#reading = reading;
    this.#db = new Entries(session, 'db', reading);
  }

  /** Writes a new record, with what it sets aside in the books. Writing it twice is harmless. */
  async create(record: CaptureRecord): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#write(null, record);
        return;
      } catch (error) {
        // Nobody else has this uuid: an earlier try, whose answer was lost, has written it.
        if (isWriteConflict(error) && (await this.get(record.account, record.uuid)) !== null) return;
        if (!isWriteConflict(error) || attempt >= attempts) throw error;
        await delay(Math.random() * attempt * 4);
      }
    }
  }

  /** The record, or null when the account has no capture of that uuid. */
  async get(account: string, uuid: string): Promise<Entry<CaptureRecord> | null> {
    if (timeOfUuid(uuid) === null) return null;
    const key = captureKey(account, uuid);
    for (let attempt = 1; ; attempt++) {
      const found = await this.#db.get<CaptureRecord>(key);
      // A replica that lags does not have the newest records; that one is not there at all is rare.
      if (found !== null || this.#reading === 'from-leader' || attempt === lagAttempts) return found;
      await delay(lagDelayMs * attempt);
    }
  }

  /**
   * Marks a queued capture as being rendered. Returns the record as it stands afterwards: if it is not open, there is
   * nothing to do (cancelled, already ended); null: there is no record.
   */
  begin(ref: CaptureRef): Promise<CaptureRecord | null> {
    return this.change(ref, begin(ref.revision ?? 0));
  }

  /**
   * Ends a capture as completed, and charges it. `expiresAt` is that of the stored file. However many renderers finish
   * a capture, it completes once. Returns the record that stands afterwards.
   */
  complete(ref: CaptureRef, outcome: CaptureOutcome, expiresAt: number): Promise<CaptureRecord | null> {
    return this.change(ref, complete(ref.revision ?? 0, outcome, expiresAt));
  }

  /** Ends an open capture as failed, uncharged. Returns the record that stands afterwards. */
  fail(ref: CaptureRef, failure: CaptureFailure): Promise<CaptureRecord | null> {
    return this.change(ref, fail(ref.revision ?? 0, failure));
  }

  /** As `fail`, but only while nobody has begun to render it. */
  cancelQueued(ref: CaptureRef, failure: CaptureFailure): Promise<CaptureRecord | null> {
    return this.change(ref, cancelQueued(ref.revision ?? 0, failure));
  }

  /** Forgets a capture altogether: for test captures of the service itself, which nobody is to see. */
  async remove(account: string, uuid: string): Promise<void> {
    await this.#db.delete(captureKey(account, uuid));
  }

  /**
   * Lets a record become what the transition makes of it, by compare-and-set until it holds. Returns the record that
   * stands afterwards, whoever made it so; null when there is none.
   */
  async change({ account, uuid }: CaptureRef, transition: Transition): Promise<CaptureRecord | null> {
    for (let attempt = 1; ; attempt++) {
      const begun = this.#takeBegun(uuid);
      const found = begun ?? (await this.get(account, uuid));
      const wanted = found === null ? null : transition(found.value, Date.now());
      // What stands now may be another one.
      if (wanted === null && begun !== undefined) continue;
      if (found === null || wanted === null) return found?.value ?? null;
      try {
        const revision = await this.#write(found, wanted);
        if (wanted.status === 'rendering') this.#keepBegun({ value: wanted, revision });
        return wanted;
      } catch (error) {
        // After a time-out the write may have been done; the next reading tells.
        if (!(isWriteConflict(error) || isTransient(error)) || attempt >= attempts) throw error;
        await delay(Math.random() * attempt * 4);
      }
    }
  }

  #takeBegun(uuid: string): Entry<CaptureRecord> | undefined {
    const begun = this.#begun.get(uuid);
    this.#begun.delete(uuid);
    return begun;
  }

  #keepBegun(entry: Entry<CaptureRecord>): void {
    if (this.#begun.size >= mostBegun) this.#begun.clear();
    this.#begun.set(entry.value.uuid, entry);
  }

  /**
   * Writes a record, and in the same atomic batch what the change means for the account's usage. Returns the revision of
   * the record.
   */
  async #write(found: Entry<CaptureRecord> | null, wanted: CaptureRecord): Promise<number> {
    const { account, uuid, status } = wanted;
    const key = captureKey(account, uuid);
    const revision = found?.revision ?? 0;
    const ttl = ['failed', 'expired', 'deleted'].includes(status) ? { ttlSeconds: retentionSeconds } : {};
    const changes = difference(usageOf(wanted), found === null ? new Map() : usageOf(found.value));
    if (changes.length === 0) {
      return this.#db.update(key, wanted, revision, ttl);
    }
    const shards = await Promise.all(
      changes.map(async ({ month, change }): Promise<BatchWrite> => {
        const shardKey = usageKey(account, month, uuid);
        const shard = await this.#db.get<Usage>(shardKey);
        return this.#writing(shardKey, sum({ ...noUsage, ...shard?.value }, change), shard?.revision ?? 0);
      }),
    );
    return commitBatch(this.#session.nc, [...shards, { ...this.#writing(key, wanted, revision), ...ttl }]);
  }

  #writing(key: string, value: unknown, expectedSequence: number): BatchWrite {
    return { subject: this.#db.subject(key), data: JSON.stringify(value), expectedSequence };
  }
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
