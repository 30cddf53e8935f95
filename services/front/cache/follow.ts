import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { CachePlace } from '@webcapture/shared/contract/capture-job.ts';
import { answers, type Cache, type CacheClaim } from '@webcapture/shared/state/cache.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';

export interface FollowDeps {
  readonly cache: Pick<Cache, 'get'>;
  readonly captures: Pick<Captures, 'get'>;
  /** Tells of every write to the entry. */
  readonly onWrite: (listener: () => void) => () => void;
}

/** How following ended. `over`: the leader gave up without a failure of its own, or died, or nothing was heard of it. */
export type FollowEnd =
  | { readonly kind: 'completed'; readonly record: CaptureRecord }
  | { readonly kind: 'failed'; readonly failure: CaptureFailure }
  | { readonly kind: 'over' | 'client-gone' };

/**
 * How often the entry and the record are read, in case a write was not heard: the first time soon, since a write may be
 * heard of before it can be read, then ever more rarely.
 */
const pollMs = { first: 50, last: 2000 };

/** A claim whose capture has no record for so long belongs to a front that died between the two. */
const recordMs = 15_000;

/** After its deadline somebody settles the leader's record; for so long it may take. */
const settleMs = 3000;

const callMs = 4000;

/**
 * Waits for the end of the capture that leads. The entry tells of it at once, on whichever front the leader is; the
 * record is the truth, also when the entry is lost.
 */
export async function follow(
  account: string,
  place: CachePlace,
  leader: CacheClaim,
  clientGone: AbortSignal,
  deps: FollowDeps,
): Promise<FollowEnd> {
  let wake = new AbortController();
  let waitMs = pollMs.first;
  const wakeUp = () => {
    waitMs = pollMs.first;
    wake.abort();
  };
  const stopListening = deps.onWrite(wakeUp);
  clientGone.addEventListener('abort', wakeUp);
  try {
    while (!clientGone.aborted) {
      wake = new AbortController();
      const end = await look(account, place, leader, deps);
      if (end !== null) return end;
      if (Date.now() >= leader.until + settleMs) return { kind: 'over' };
      await delay(waitMs, wake.signal);
      waitMs = Math.min(2 * waitMs, pollMs.last);
    }
    return { kind: 'client-gone' };
  } finally {
    stopListening();
    clientGone.removeEventListener('abort', wakeUp);
  }
}

/** Null while the leader is under way, as far as one can tell. */
async function look(
  account: string,
  place: CachePlace,
  leader: CacheClaim,
  { cache, captures }: FollowDeps,
): Promise<FollowEnd | null> {
  const entry = await unlessAway(cache.get(account, place.name), 'reading the cache');
  const answer = entry === undefined ? null : answers(entry, place.ttl, Date.now());
  if (answer !== null) return { kind: 'completed', record: answer };
  const found = await unlessAway(captures.get(account, leader.uuid), 'reading a capture');
  if (found === undefined) return null;
  if (found === null) {
    const isGivenUp = entry !== undefined && entry.claim?.uuid !== leader.uuid;
    const isLost = Date.now() - (timeOfUuid(leader.uuid) ?? 0) > recordMs;
    return isGivenUp || isLost ? { kind: 'over' } : null;
  }
  const record = found.value;
  if (isOpen(record)) return null;
  if (record.failure !== undefined && record.failure.cancelled !== true) {
    return { kind: 'failed', failure: record.failure };
  }
  return record.status === 'completed' ? { kind: 'completed', record } : { kind: 'over' };
}

/** Undefined when it cannot be read right now. */
async function unlessAway<T>(reading: Promise<T>, what: string): Promise<T | undefined> {
  try {
    return await withDeadline(reading, callMs, what);
  } catch (error) {
    if (!isTransient(error)) throw error;
    return undefined;
  }
}
