import { randomUUID } from 'node:crypto';
import type { CaptureFailure, CaptureRecord } from './capture-record.ts';
import { isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry, type WriteOptions } from '../nats/entries.ts';
import { compareAndSet, type CallLimits } from '../nats/retry.ts';
import { UsageLedger } from './ledger.ts';
import { dayOf } from './times.ts';
import { fail, type Transition } from './transitions.ts';
import { difference, usageKey, usageOf, withStoredBytes } from './usage.ts';
import { timeOfUuid } from './uuid.ts';

/** Identifies a capture; with a `revision`, its refresh of that number. Jobs and records satisfy this type too. */
export interface CaptureRef {
  readonly account: string;
  readonly uuid: string;
  readonly revision?: number;
}

/** The result of a change of a capture. */
interface Changed {
  /** The resulting record; null if the capture has none. */
  readonly record: CaptureRecord | null;
  /** Whether this call changed the record. */
  readonly changed: boolean;
}

/** Called once for each change of a record. `before` is null if the record is new. */
export type OnChange = (before: CaptureRecord | null, after: CaptureRecord) => void;

/** Retention of a record without a file, for accounting and for clients: 90 days. */
const retentionSeconds = 90 * 86_400;

/** The records of captures. All changes and charges of captures are made here. */
export class Captures {
  readonly #session: NatsSession;
  readonly #db: Entries;
  readonly #ledger: UsageLedger;
  readonly #onChange: OnChange;

  constructor(session: NatsSession, onChange: OnChange = () => undefined) {
    this.#session = session;
    this.#onChange = onChange;
    this.#db = new Entries(session, 'db');
    this.#ledger = new UsageLedger(session);
  }

  /**
   * Writes a new record. The reservation of a background capture in the usage ledger follows from it (`usageOf`). A repeated call changes
   * nothing.
   */
  async create(record: CaptureRecord, limits?: CallLimits): Promise<void> {
    await compareAndSet(async (timeoutMs) => {
      try {
        await this.#write(null, withStoredBytes(record), { timeoutMs });
      } catch (error) {
        // The uuid is unique, so an earlier attempt whose answer was lost has written the record.
        if (!isWriteConflict(error) || (await this.get(record.account, record.uuid)) === null) throw error;
      }
    }, limits);
  }

  /** Returns the record, or null if the account has no capture with this uuid. */
  async get(account: string, uuid: string): Promise<Entry<CaptureRecord> | null> {
    if (timeOfUuid(uuid) === null) return null;
    return this.#db.get<CaptureRecord>(captureKey(account, uuid));
  }

  /** Ends an open capture as failed, without a charge. Returns the resulting record. */
  fail(ref: CaptureRef, failure: CaptureFailure, limits?: CallLimits): Promise<CaptureRecord | null> {
    return this.change(ref, fail(ref.revision ?? 0, failure), limits);
  }

  /**
   * Applies the transition to a record by compare-and-set until it succeeds. Returns the resulting record, even if another process made the
   * change; null if there is no record. `known` is a record that was read before. If it is still current, it saves a read.
   */
  async change(
    ref: CaptureRef,
    transition: Transition,
    options: CallLimits & { readonly known?: Entry<CaptureRecord> } = {},
  ): Promise<CaptureRecord | null> {
    return (await this.#change(ref, transition, options)).record;
  }

  /**
   * Ends a capture or a refresh with the transition. An interactive capture has no record before it ends; its record is
   * created from `draft`. The capture ends once and is charged once, even if several processes call this repeatedly.
   */
  end(
    ref: CaptureRef & { readonly draft?: CaptureRecord },
    transition: Transition,
    limits: CallLimits = {},
  ): Promise<Changed> {
    return this.#change(ref, transition, { ...limits, draft: ref.draft });
  }

  #change(
    { account, uuid }: CaptureRef,
    transition: Transition,
    options: CallLimits & { readonly known?: Entry<CaptureRecord>; readonly draft?: CaptureRecord | undefined },
  ): Promise<Changed> {
    const { known, draft, ...limits } = options;
    const wantedOf = (found: Entry<CaptureRecord> | null) => {
      const current = found?.value ?? draft;
      if (current === undefined) return null;
      const wanted = transition(current, this.#session.now());
      return wanted && withStoredBytes(wanted);
    };
    // The known record may be outdated, and a draft may have a record by now. In both cases, the write causes a conflict.
    let guess = known ?? (draft === undefined ? undefined : null);
    /** The record before each attempt, by the id of its write. It is kept because an attempt that got no answer may have written. */
    const attempts = new Map<string, CaptureRecord | null>();
    return compareAndSet(async (timeoutMs) => {
      const guessed = guess;
      guess = undefined;
      let found = guessed === undefined ? await this.get(account, uuid) : guessed;
      let wanted = wantedOf(found);
      if (wanted === null && guessed !== undefined) {
        found = await this.get(account, uuid);
        wanted = wantedOf(found);
      }
      if (wanted === null) {
        const before = attempts.get(found?.writeId ?? '');
        if (found === null || before === undefined) return { record: found?.value ?? null, changed: false };
        this.#onChange(before, found.value);
        return { record: found.value, changed: true };
      }
      const before = found?.value ?? draft ?? null;
      const writeId = randomUUID();
      attempts.set(writeId, before);
      await this.#write(found, wanted, { timeoutMs, writeId });
      this.#onChange(before, wanted);
      return { record: wanted, changed: true };
    }, limits);
  }

  /** Writes a record and the resulting change of the account's usage in one atomic batch. */
  async #write(
    found: Entry<CaptureRecord> | null,
    wanted: CaptureRecord,
    { timeoutMs, writeId }: { readonly timeoutMs: number; readonly writeId?: string },
  ): Promise<void> {
    const { account, uuid, status } = wanted;
    const key = captureKey(account, uuid);
    const revision = found?.revision ?? 0;
    const options: WriteOptions = {
      ...(['failed', 'expired', 'deleted'].includes(status) && { ttlSeconds: retentionSeconds }),
      ...(writeId !== undefined && { writeId }),
    };
    const changes = difference(usageOf(wanted), found === null ? new Map() : usageOf(found.value));
    if (changes.length === 0) {
      await this.#db.update(key, wanted, revision, options);
      return;
    }
    await this.#ledger.write(
      {
        record: { ...this.#db.writing(key, wanted, revision), ...options },
        changes: changes.map(({ period, change }) => ({ shard: usageKey(account, period, uuid), change })),
      },
      timeoutMs,
    );
  }
}

/** Returns `capture.<account>.<yyyymmdd>.<uuid>`. The UUIDv7 determines the day. */
export function captureKey(account: string, uuid: string): string {
  return capturesOfDay(account, timeOfUuid(uuid) ?? 0) + uuid;
}

/** Returns the prefix of the keys of an account's captures of one day in UTC. `time` (Unix ms) is any time of that day. */
export function capturesOfDay(account: string, time: number): string {
  return `capture.${account}.${dayOf(time)}.`;
}
