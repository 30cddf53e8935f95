import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { removalReasons, type RemovalReason } from './decide-file.ts';

export type ByReason = Readonly<Record<RemovalReason, number>>;

/** Progress and findings of a pass over all files. Times in Unix milliseconds. */
export interface PassState {
  readonly startedAt: number;
  /** Null until the pass ends. */
  readonly endedAt: number | null;
  /** Where the pass continues; null at the start. */
  readonly cursor: string | null;
  /** How often the store has refused every removal on the next page. */
  readonly tries: number;
  /** Number of checked files. */
  readonly looked: number;
  /** Files that should be removed, and their bytes. */
  readonly found: ByReason;
  readonly foundBytes: number;
  readonly removed: ByReason;
  /** Kept, because they may belong to another installation. */
  readonly withheld: number;
  /** Not removed because the store failed. */
  readonly failed: number;
}

const nothing: ByReason = Object.freeze({ no_record: 0, other_file: 0, ended: 0, overdue: 0 });

export function newPass(startedAt: number): PassState {
  const counts = { looked: 0, found: nothing, foundBytes: 0, removed: nothing, withheld: 0, failed: 0 };
  return { startedAt, endedAt: null, cursor: null, tries: 0, ...counts };
}

/** Returns the sum of both. */
export function plus(some: ByReason, more: readonly RemovalReason[]): ByReason {
  const sum = { ...some };
  for (const reason of more) sum[reason]++;
  return sum;
}

export const total = (counts: ByReason) => removalReasons.reduce((sum, reason) => sum + counts[reason], 0);

const passKey = 'reconcile.pass';
const missingKey = 'reconcile.missing';

/** Number of completed captures without a file at the last count. */
export interface MissingCount {
  readonly count: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/**
 * The progress of the orphan collection. It is stored in the bucket `live` without a TTL, where the next leader reads
 * it. The state of a finished pass is kept until the next pass starts.
 */
export const readPass = async (live: Entries) => (await live.get<PassState>(passKey))?.value ?? null;
export const keepPass = (live: Entries, state: PassState) => live.put(passKey, state);

export const readMissing = async (live: Entries) => (await live.get<MissingCount>(missingKey))?.value ?? null;
export const keepMissing = (live: Entries, count: MissingCount) => live.put(missingKey, count);

const leaseKey = 'reconcile.lease';

/** Longer than a page takes. A dead holder blocks the next one for this time. */
const ttlSeconds = 120;

/** Holder name of the leader's job: there is one leader, which continues where the former one stopped. */
export const leaderHolder = 'the leader of the fleet';

/** The lease for removing orphans: either the leader's job or an operator's command has it. */
export class OrphanCollectionLease {
  readonly #live: Entries;
  readonly #holder: string;

  constructor(live: Entries, holder: string) {
    this.#live = live;
    this.#holder = holder;
  }

  /** Takes or extends the lease, before each page. Returns null on success, else the holder. */
  async take(): Promise<string | null> {
    const found = await this.#live.get<{ holder: string }>(leaseKey);
    if (found !== null && found.value.holder !== this.#holder) return found.value.holder;
    try {
      const value = { holder: this.#holder };
      if (found === null) await this.#live.create(leaseKey, value, { ttlSeconds });
      else await this.#live.update(leaseKey, value, found.revision, { ttlSeconds });
      return null;
    } catch (error) {
      if (isWriteConflict(error)) return 'another process';
      throw error;
    }
  }

  /** Releases the lease if this process holds it. */
  async release(): Promise<void> {
    const found = await this.#live.get<{ holder: string }>(leaseKey);
    if (found?.value.holder === this.#holder) await this.#live.delete(leaseKey, found.revision);
  }
}
