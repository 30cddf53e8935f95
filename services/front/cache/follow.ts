import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { CachePlace } from '@webcapture/shared/contract/capture-job.ts';
import { answers, type Cache, type CacheClaim } from '@webcapture/shared/state/cache.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';

export interface FollowDeps {
  readonly cache: Pick<Cache, 'get'>;
  readonly captures: Pick<Captures, 'get'>;
  /** Unix ms, by the server's clock. */
  readonly now: () => number;
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
  let claimedUntil = leader.until;
  const wakeUp = () => {
    waitMs = pollMs.first;
    wake.abort();
  };
  const stopListening = deps.onWrite(wakeUp);
  clientGone.addEventListener('abort', wakeUp);
  try {
    while (!clientGone.aborted) {
      wake = new AbortController();
      const seen = await look(account, place, leader, deps);
      if ('kind' in seen) return seen;
      // Its front puts the end of the claim off when the capture is queued.
      if (seen.claim !== null) ({ until: claimedUntil } = seen.claim);
      if (deps.now() >= claimedUntil + settleMs) return { kind: 'over' };
      await delay(waitMs, wake.signal);
      waitMs = Math.min(2 * waitMs, pollMs.last);
    }
    return { kind: 'client-gone' };
  } finally {
    stopListening();
    clientGone.removeEventListener('abort', wakeUp);
  }
}

/** How it ended; or, while the leader is under way as far as one can tell, its claim, if that could be read. */
async function look(
  account: string,
  place: CachePlace,
  leader: CacheClaim,
  deps: FollowDeps,
): Promise<FollowEnd | { readonly claim: CacheClaim | null }> {
  const entry = await unlessAway(deps.cache.get(account, place.name), 'reading the cache');
  const answer = entry === undefined ? null : answers(entry, place.ttl, deps.now());
  if (answer !== null) return { kind: 'completed', record: answer };
  const found = await unlessAway(deps.captures.get(account, leader.uuid), 'reading a capture');
  const claim = entry?.claim?.uuid === leader.uuid ? entry.claim : null;
  if (found === undefined) return { claim };
  // A capture that a client waits for has no record until it ends.
  if (found === null) return entry !== undefined && claim === null ? { kind: 'over' } : { claim };
  const record = found.value;
  if (isOpen(record)) return { claim };
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
