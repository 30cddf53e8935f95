import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries, isTombstone } from '@webcapture/shared/nats/entries.ts';
import type { LeaseStore, LeaseTimes, StoredLease } from './lease.ts';

/** Key of the fleet's leader in the bucket `live`. */
export const leaderKey = 'leader';

export interface LeaderRecord {
  readonly holder: string;
  /** Time of the write in Unix milliseconds. Nothing depends on it. */
  readonly at: number;
}

type StoredLeader = StoredLease & { readonly version: number };

/** The leadership of the fleet, stored in a NATS key. If no candidate is left, the server removes the key after its TTL. */
export function natsLeaseStore(
  live: Entries,
  { ttlMs, requestMs }: Pick<LeaseTimes, 'ttlMs' | 'requestMs'>,
): LeaseStore<StoredLeader> {
  return {
    read: async () => {
      const entry = await withDeadline(live.get<LeaderRecord>(leaderKey), requestMs, 'reading the leadership');
      return entry === null ? null : { holder: entry.value.holder, version: entry.revision };
    },
    write: async (before, holder) => {
      const record: LeaderRecord = { holder, at: Date.now() };
      const options = { ttlSeconds: ttlMs / 1000 };
      const written =
        before === null
          ? live.create(leaderKey, record, options)
          : live.update(leaderKey, record, before.version, options);
      return { holder, version: await withDeadline(written, requestMs, 'writing the leadership') };
    },
    release: ({ version }) => withDeadline(live.delete(leaderKey, version), requestMs, 'releasing the leadership'),
    isConflict: isWriteConflict,
  };
}

/**
 * A release is an ordinary message on the key's subject, so candidates that receive it need not wait for their next
 * check.
 */
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
