import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, isTombstone, type Entry } from '@webcapture/shared/nats/entries.ts';
import type { Candidate } from './election.ts';

/** Where the fleet leader's name is kept, in the bucket `live`. */
export const leaderKey = 'leader';

export interface LeaderRecord {
  /** Unique to a process, so that nobody takes the word of a namesake for its own. */
  readonly holder: string;
  /** Unix milliseconds, for people who look. */
  readonly at: number;
}

export interface LeaseTimes {
  /** Whole seconds. */
  readonly ttlMs: number;
  /** The holder stops acting so long before anybody else may begin. */
  readonly marginMs: number;
  readonly renewMs: number;
  /** Between a failed renewal and the next. */
  readonly retryMs: number;
  /** How often the others look whether it has become free. */
  readonly pollMs: number;
  /** How long one request may take. */
  readonly requestMs: number;
}

export const leaseTimes: LeaseTimes = Object.freeze({
  ttlMs: 6000,
  marginMs: 1500,
  renewMs: 1500,
  retryMs: 250,
  pollMs: 500,
  requestMs: 1000,
});

/**
 * The leadership as one candidate sees it. It is held for `ttlMs` from a write; the holder counts that from before the
 * write and stops `marginMs` early, the others count it from when they have read that write, each on its own monotonic
 * clock. So no two hold it at once, whatever their wall clocks say and however long one of them was paused. The server's
 * TTL clears up after the last candidate.
 */
export class Lease implements Candidate {
  readonly holder: string;
  readonly #live: Entries;
  readonly #times: LeaseTimes;
  readonly #now: () => number;
  #revision: number | null = null;
  #actUntil = 0;
  #seen: { readonly revision: number; readonly at: number } | null = null;

  constructor(live: Entries, holder: string, times: LeaseTimes, now: () => number = () => performance.now()) {
    this.#live = live;
    this.holder = holder;
    this.#times = times;
    this.#now = now;
  }

  /** Whether this process may act as the leader right now. Asked before each act. */
  holds(): boolean {
    return this.#revision !== null && this.#now() < this.#actUntil;
  }

  /** Takes the leadership if it is free. Throws when NATS does not answer. */
  async take(): Promise<boolean> {
    const startedAt = this.#now();
    const entry = await this.#read();
    if (entry !== null && !this.#isFree(entry)) return false;
    try {
      this.#hold(await this.#write(entry?.revision ?? null), startedAt);
      return true;
    } catch (error) {
      if (isWriteConflict(error)) return false;
      throw error;
    }
  }

  /** Holds it for longer. When somebody else has it, it is lost; a failure to reach NATS leaves it to the clock. */
  async renew(): Promise<void> {
    if (this.#revision === null) return;
    const startedAt = this.#now();
    try {
      this.#hold(await this.#write(this.#revision), startedAt);
    } catch (error) {
      if (!isWriteConflict(error)) throw error;
      // Our own write whose answer was lost, or somebody else's.
      if (!(await this.confirm()) || this.#revision === null) return;
      this.#hold(await this.#write(this.#revision), startedAt);
    }
  }

  /** Asks the server whether the leadership is still ours; if not, it is lost at once. Throws when NATS does not answer. */
  async confirm(): Promise<boolean> {
    const entry = await this.#read();
    // Ours under another revision: a renewal that seemed to fail has landed.
    this.#revision = entry?.value.holder === this.holder ? entry.revision : null;
    return this.holds();
  }

  /** Gives it up, so that a successor need not wait. */
  async release(): Promise<void> {
    const revision = this.#revision;
    this.#revision = null;
    if (revision === null) return;
    await withDeadline(this.#live.delete(leaderKey, revision), this.#times.requestMs, 'releasing the leadership');
  }

  #isFree(entry: Entry<LeaderRecord>): boolean {
    if (entry.value.holder === this.holder) return true;
    if (this.#seen?.revision !== entry.revision) this.#seen = { revision: entry.revision, at: this.#now() };
    return this.#now() - this.#seen.at >= this.#times.ttlMs;
  }

  #hold(revision: number, startedAt: number): void {
    this.#revision = revision;
    this.#actUntil = startedAt + this.#times.ttlMs - this.#times.marginMs;
  }

  #read(): Promise<Entry<LeaderRecord> | null> {
    return withDeadline(this.#live.get<LeaderRecord>(leaderKey), this.#times.requestMs, 'reading the leadership');
  }

  #write(revision: number | null): Promise<number> {
    const record: LeaderRecord = { holder: this.holder, at: Date.now() };
    const options = { ttlSeconds: this.#times.ttlMs / 1000 };
    const written =
      revision === null
        ? this.#live.create(leaderKey, record, options)
        : this.#live.update(leaderKey, record, revision, options);
    return withDeadline(written, this.#times.requestMs, 'writing the leadership');
  }
}

/** A release is an ordinary message on the key's subject: whoever hears it need not wait for the next look. */
export function onRelease(session: NatsSession): (wake: () => void) => () => void {
  return (wake) => {
    const subscription = session.nc.subscribe(new Entries(session, 'live').subject(leaderKey), {
      callback: (error, message) => {
        if (error === null && isTombstone(message.headers)) wake();
      },
    });
    return () => subscription.unsubscribe();
  };
}
