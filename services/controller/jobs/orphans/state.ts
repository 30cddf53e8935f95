import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { removalReasons, type RemovalReason } from './decide-file.ts';

export type ByReason = Readonly<Record<RemovalReason, number>>;

/** How far a pass over all files has come, and what it has found until there. Times in Unix milliseconds. */
export interface PassState {
  readonly startedAt: number;
  /** Null while there is more to look at. */
  readonly endedAt: number | null;
  /** Where it goes on; null at its begin. */
  readonly cursor: string | null;
  /** How often the store has refused everything on the page that comes next. */
  readonly tries: number;
  /** Files looked at. */
  readonly looked: number;
  /** Files that should go, and their bytes. */
  readonly found: ByReason;
  readonly foundBytes: number;
  readonly removed: ByReason;
  /** Left where they are, as too many of their neighbours have no record either. */
  readonly withheld: number;
  /** The store did not remove them. */
  readonly failed: number;
}

const nothing: ByReason = Object.freeze({ no_record: 0, other_file: 0, ended: 0, overdue: 0 });

export function newPass(startedAt: number): PassState {
  const counts = { looked: 0, found: nothing, foundBytes: 0, removed: nothing, withheld: 0, failed: 0 };
  return { startedAt, endedAt: null, cursor: null, tries: 0, ...counts };
}

/** Both together. */
export function plus(some: ByReason, more: readonly RemovalReason[]): ByReason {
  const sum = { ...some };
  for (const reason of more) sum[reason]++;
  return sum;
}

export const total = (counts: ByReason) => removalReasons.reduce((sum, reason) => sum + counts[reason], 0);

const passKey = 'reconcile.pass';
const missingKey = 'reconcile.missing';

/** How many completed captures had lost their file when somebody looked. */
export interface MissingCount {
  readonly count: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/**
 * How far the orphan collection has come: in the bucket `live`, without a time limit, where the next leader finds it. A pass
 * that has ended stays there until the next one begins.
 */
export const readPass = async (live: Entries) => (await live.get<PassState>(passKey))?.value ?? null;
export const keepPass = (live: Entries, state: PassState) => live.put(passKey, state);

export const readMissing = async (live: Entries) => (await live.get<MissingCount>(missingKey))?.value ?? null;
export const keepMissing = (live: Entries, count: MissingCount) => live.put(missingKey, count);

const leaseKey = 'reconcile.claim';

/** Longer than a page takes; one that died holds up the next for so long. */
const ttlSeconds = 120;

/** The holder that the leader's job is: there is one leader, which goes on where the former one stopped. */
export const leaderHolder = 'the leader of the fleet';

/** The right to remove orphans: the leader's job or a person has it, never both at once. */
export class OrphanCollectionLease {
  readonly #live: Entries;
  readonly #holder: string;

  constructor(live: Entries, holder: string) {
    this.#live = live;
    this.#holder = holder;
  }

  /** Takes it, or holds it for longer: before each page. Null when it is ours, else who has it. */
  async take(): Promise<string | null> {
    const found = await this.#live.get<{ holder: string }>(leaseKey);
    if (found !== null && found.value.holder !== this.#holder) return found.value.holder;
    try {
      const value = { holder: this.#holder };
      if (found === null) await this.#live.create(leaseKey, value, { ttlSeconds });
      else await this.#live.update(leaseKey, value, found.revision, { ttlSeconds });
      return null;
    } catch (error) {
      if (isWriteConflict(error)) return 'somebody else';
      throw error;
    }
  }

  /** Gives it up, if it is ours. */
  async release(): Promise<void> {
    const found = await this.#live.get<{ holder: string }>(leaseKey);
    if (found?.value.holder === this.#holder) await this.#live.delete(leaseKey, found.revision);
  }
}
