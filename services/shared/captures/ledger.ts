import { isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { type BatchWrite, commitBatch, Entries } from '../nats/entries.ts';
import { DeadlineError, withDeadline } from '../runtime/deadline.ts';
import { noUsage, sum, type Usage } from './usage.ts';

/** A record to write, and its changes of the usage ledger. */
export interface LedgerWrite {
  readonly record: BatchWrite;
  /** Changes by key of the shard. There is at least one. */
  readonly changes: readonly { readonly shard: string; readonly change: Usage }[];
}

interface Waiting extends LedgerWrite {
  /** Deadline by the monotonic clock. */
  readonly end: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of records in one batch, in addition to the shard; the server allows a thousand messages. */
const maxGroup = 50;

/**
 * Writes records, and the shards of the ledger that they change, in atomic batches. If captures that end at the same time wrote separately,
 * most writes would find their shard changed: of a thousand, all but sixteen would fail. Therefore each process writes a shard in one batch
 * after another, and writes that arrive meanwhile share the next batch.
 */
export class UsageLedger {
  readonly #session: NatsSession;
  readonly #db: Entries;
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(session: NatsSession) {
    this.#session = session;
    this.#db = new Entries(session, 'db');
  }

  /**
   * Writes a record and the ledger changes, or neither. Throws a JetStreamApiError that `isWriteConflict` recognizes if the record was
   * changed meanwhile, or a transient error.
   */
  write(write: LedgerWrite, timeoutMs: number): Promise<void> {
    const [first] = write.changes;
    if (first === undefined) throw new RangeError('a write to the usage ledger changes at least one shard');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(first.shard) ?? [];
    waiting.push({ ...write, end: performance.now() + timeoutMs, resolve, reject });
    if (!this.#waiting.has(first.shard)) {
      this.#waiting.set(first.shard, waiting);
      // Writes of the same turn of the event loop share a batch.
      queueMicrotask(() => void this.#work(first.shard, waiting));
    }
    return promise;
  }

  async #work(shard: string, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) await this.#writeGroup(nextGroup(waiting));
    this.#waiting.delete(shard);
  }

  /** Writes a group. Never throws. */
  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const now = performance.now();
    const [late, current] = [group.filter(({ end }) => end <= now), group.filter(({ end }) => end > now)];
    // Writes that have waited too long have timed out. Their callers retry them.
    for (const { reject } of late) reject(new DeadlineError('waiting to write the usage of a capture', 0));
    if (current.length === 0) return;
    const leftMs = Math.max(...current.map(({ end }) => end)) - now;
    try {
      await withDeadline(this.#commit(current, leftMs), leftMs, 'writing the usage ledger');
      for (const { resolve } of current) resolve();
    } catch (error) {
      if (current.length === 1 || !isWriteConflict(error)) {
        for (const { reject } of current) reject(error);
        return;
      }
      // One failing record must not block the others.
      const half = current.length >> 1;
      await this.#writeGroup(current.slice(0, half));
      await this.#writeGroup(current.slice(half));
    }
  }

  /**
   * Retries until it succeeds. If another process has changed a shard, retries; throws a conflict only if one of the records was changed.
   */
  async #commit(group: readonly LedgerWrite[], timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    const records = group.map(({ record }) => record);
    for (let before = '', conflict: unknown; ;) {
      const shards = await this.#shardsWith(group);
      const revisions = shards.map(({ expectedSequence }) => expectedSequence).join();
      if (revisions === before) throw conflict;
      try {
        await commitBatch(this.#session.nc, [...shards, ...records], Math.max(1, end - performance.now()));
        return;
      } catch (error) {
        if (!isWriteConflict(error) || performance.now() >= end) throw error;
        conflict = error;
        before = revisions;
      }
    }
  }

  /** Returns the shards of the ledger with these changes. */
  #shardsWith(group: readonly LedgerWrite[]): Promise<BatchWrite[]> {
    const changes = new Map<string, Usage>();
    for (const { shard, change } of group.flatMap(({ changes: each }) => each)) {
      changes.set(shard, sum(changes.get(shard) ?? noUsage, change));
    }
    const write = async ([shard, change]: [string, Usage]): Promise<BatchWrite> => {
      const found = await this.#db.get<Usage>(shard);
      return this.#db.writing(shard, sum(found?.value ?? noUsage, change), found?.revision ?? 0);
    };
    return Promise.all([...changes].map(write));
  }
}

/** Takes the writes that can share a batch. No record may occur twice, because the second write would conflict. */
function nextGroup(waiting: Waiting[]): readonly Waiting[] {
  const group: Waiting[] = [];
  const left: Waiting[] = [];
  const subjects = new Set<string>();
  for (const each of waiting) {
    if (group.length >= maxGroup || subjects.has(each.record.subject)) left.push(each);
    else {
      subjects.add(each.record.subject);
      group.push(each);
    }
  }
  waiting.splice(0, waiting.length, ...left);
  return group;
}
