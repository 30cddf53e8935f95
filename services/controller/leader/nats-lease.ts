import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, isTombstone } from '@webcapture/shared/nats/entries.ts';
import type { LeaseStore, LeaseTimes, StoredLease } from './lease.ts';

/** Where the fleet leader's name is kept, in the bucket `live`. */
export const leaderKey = 'leader';

export interface LeaderRecord {
  readonly holder: string;
  /** Unix milliseconds, for people who look. */
  readonly at: number;
}

interface StoredLeader extends StoredLease {
  readonly version: number;
}

/** The leadership of the fleet, in a key of NATS. The server's TTL clears up after the last candidate. */
export class NatsLeaseStore implements LeaseStore<StoredLeader> {
  readonly #live: Entries;
  readonly #times: Pick<LeaseTimes, 'ttlMs' | 'requestMs'>;

  constructor(live: Entries, times: Pick<LeaseTimes, 'ttlMs' | 'requestMs'>) {
    this.#live = live;
    this.#times = times;
  }

  async read(): Promise<StoredLeader | null> {
    const read = this.#live.get<LeaderRecord>(leaderKey);
    const entry = await withDeadline(read, this.#times.requestMs, 'reading the leadership');
    return entry === null ? null : { holder: entry.value.holder, version: entry.revision };
  }

  async write(before: StoredLeader | null, holder: string): Promise<StoredLeader> {
    const record: LeaderRecord = { holder, at: Date.now() };
    const options = { ttlSeconds: this.#times.ttlMs / 1000 };
    const written =
      before === null
        ? this.#live.create(leaderKey, record, options)
        : this.#live.update(leaderKey, record, before.version, options);
    return { holder, version: await withDeadline(written, this.#times.requestMs, 'writing the leadership') };
  }

  async release({ version }: StoredLeader): Promise<void> {
    await withDeadline(this.#live.delete(leaderKey, version), this.#times.requestMs, 'releasing the leadership');
  }

  isConflict(error: unknown): boolean {
    return isWriteConflict(error);
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
