import type { StoredBytes } from '../captures/capture-record.ts';
import type { Priority } from '../nats/streams.ts';
import {
  type AddedBytes,
  type ByteLimits,
  type EmbeddedLimit,
  type ExceededLimit,
  exceededLimit,
} from './byte-limits.ts';

/** What an account may do. */
export interface AccountLimits extends ByteLimits {
  /** Tokens of a calendar month. */
  readonly tokenQuota: number;
  readonly ratePerMinute: number;
  /** Requests that may come at once after a quiet time. */
  readonly burst: number;
  /** Captures that clients wait for at the same time. */
  readonly maxInFlight: number;
  /** Background captures that have not ended. */
  readonly maxQueued: number;
}

/** The limits of an account, with the one that the store sets. */
export interface AdmissionLimits extends AccountLimits {
  readonly embedded?: EmbeddedLimit | undefined;
}

/** What the usage ledger says of the account this month, over all shards. */
export interface UsageSum extends StoredBytes {
  readonly tokens: number;
  /** Tokens of background captures that have not ended. */
  readonly reserved: number;
  /** Background captures that have not ended. */
  readonly queued: number;
}

/**
 * A reservation under its own name: its tokens, when it lapses (Unix ms) should it never be released, and the bytes of HTML that it
 * queues (absent: none).
 */
type NamedReservation = readonly [tokens: number, until: number, priority: Priority, queuedBytes?: number];

/**
 * What one front has reserved for captures that the value does not name: how many, their tokens, and until when (Unix
 * ms) they count should the front die. `write` numbers the writes of the front, so that it can find out whether one
 * that was not answered took place.
 */
type FrontReservations = readonly [
  interactive: number,
  background: number,
  tokens: number,
  expires: number,
  write: number,
  queuedBytes: number,
];

/**
 * Kept per account as one value, changed by compare-and-set: limits hold over all fronts. Its size is bounded: near a
 * limit some reservations are named, so that any front can find out which of them have ended; all others are counted by
 * front.
 */
export interface AdmissionState {
  /**
   * When it was written (Unix ms), by the account's clock: the most advanced clock of all fronts. All times in the
   * value use this clock.
   */
  readonly at: number;
  /** Theoretical arrival time of GCRA, Unix ms. */
  readonly tat: number;
  /** Named reservations; stored values call them so. */
  readonly holds: Readonly<Record<string, NamedReservation>>;
  readonly fronts: Readonly<Record<string, FrontReservations>>;
}

export const freshAdmissionState: AdmissionState = { at: 0, tat: 0, holds: {}, fronts: {} };

/** How many reservations of an account may be named. */
export const maxNamed = 64;

export interface AdmissionRequest {
  /** Names the reservation: the uuid of the capture, or what `refreshReservation` makes of it. */
  readonly id: string;
  readonly tokens: number;
  readonly priority: Priority;
  /** No request of a client: the rate limit does not count it. */
  readonly unrated?: boolean;
  /** When the reservation lapses by itself, Unix ms. */
  readonly until: number;
  /** What the capture stores. Of it, `queuedBytes` are reserved. */
  readonly adds?: AddedBytes | undefined;
}

export interface AdmissionVerdict {
  readonly refused: 'rate' | 'quota' | 'bytes' | 'in-flight' | 'queued' | null;
  /** Of a request that was refused for its bytes. */
  readonly exceeded?: ExceededLimit | undefined;
  /** Requests that would pass the rate limit right now. */
  readonly remaining: number;
  /** Until `remaining` is the whole burst again. */
  readonly resetMs: number;
  /** Of a request that the rate limit refused: until it would pass. */
  readonly retryAfterMs: number;
}

/** What is reserved, over all fronts. */
interface Reserved {
  interactive: number;
  background: number;
  tokens: number;
  queuedBytes: number;
}

function reservedIn({ holds: named, fronts }: AdmissionState): Reserved {
  const reserved = { interactive: 0, background: 0, tokens: 0, queuedBytes: 0 };
  for (const [tokens, , priority, queuedBytes = 0] of Object.values(named)) {
    reserved[priority]++;
    reserved.tokens += tokens;
    reserved.queuedBytes += queuedBytes;
  }
  for (const [interactive, background, tokens, , , queuedBytes] of Object.values(fronts)) {
    reserved.interactive += interactive;
    reserved.background += background;
    reserved.tokens += tokens;
    reserved.queuedBytes += queuedBytes;
  }
  return reserved;
}

/** The state without reservations that have lapsed, and without those of fronts that have died. */
function withoutLapsed(state: AdmissionState, now: number): AdmissionState {
  const named = Object.entries(state.holds).filter(([, [, until]]) => until > now);
  const fronts = Object.entries(state.fronts).filter(([, [, , , expires]]) => expires > now);
  return { ...state, holds: Object.fromEntries(named), fronts: Object.fromEntries(fronts) };
}

/**
 * Decides on requests in their order and returns the state with reservations, by name, for those that were admitted.
 * The rate limit is GCRA (the virtual scheduling algorithm of ITU-T I.371): a request passes when its theoretical
 * arrival time is at most `burst` intervals ahead. Quota is checked after it, then the bytes, then the caps.
 *
 * @param now by the clock of the account
 * @param admitted ids that have a reservation among those which the state only counts
 */
export function admit(
  state: AdmissionState,
  limits: AdmissionLimits,
  usage: UsageSum,
  requests: readonly AdmissionRequest[],
  now: number,
  admitted: { has(id: string): boolean } = new Set(),
): { state: AdmissionState; verdicts: AdmissionVerdict[] } {
  const intervalMs = 60_000 / limits.ratePerMinute;
  const windowMs = intervalMs * limits.burst;
  const current = withoutLapsed(state, now);
  const named = new Map(Object.entries(current.holds));
  const reserved = reservedIn(current);
  // An admission never moves it further ahead than the window. A larger value comes from limits that were raised since,
  // and must not delay requests.
  let tat = Math.min(Math.max(state.tat, now), now + windowMs);
  let isChanged = state.tat > tat;
  const verdicts = requests.map((request) => {
    const [refused, exceeded] = refusal(request);
    const aheadMs = Math.max(0, tat - now);
    return {
      refused,
      ...(exceeded === undefined ? {} : { exceeded }),
      remaining: Math.max(0, Math.floor((windowMs - aheadMs) / intervalMs + 1e-9)),
      resetMs: aheadMs,
      retryAfterMs: refused === 'rate' ? Math.max(0, tat + intervalMs - windowMs - now) : 0,
    };
  });
  return { state: { ...current, tat: isChanged ? tat : state.tat, holds: Object.fromEntries(named) }, verdicts };

  function refusal(request: AdmissionRequest): [AdmissionVerdict['refused'], ExceededLimit?] {
    // An earlier attempt, whose answer was lost, has admitted it.
    if (named.has(request.id) || admitted.has(request.id)) return [null];
    if (request.unrated !== true) {
      if (tat + intervalMs - now > windowMs + 1e-6) return ['rate'];
      tat += intervalMs;
      isChanged = true;
    }
    const { priority, tokens, until, adds = {} } = request;
    if (usage.tokens + usage.reserved + reserved.tokens + tokens > limits.tokenQuota) return ['quota'];
    const exceeded = exceededLimit(withReserved(usage, reserved), adds, limits);
    if (exceeded !== null) return ['bytes', exceeded];
    if (priority === 'interactive' && reserved.interactive >= limits.maxInFlight) return ['in-flight'];
    if (priority === 'background' && usage.queued + reserved.background >= limits.maxQueued) return ['queued'];
    const { queuedBytes = 0 } = adds;
    named.set(request.id, queuedBytes === 0 ? [tokens, until, priority] : [tokens, until, priority, queuedBytes]);
    reserved[priority]++;
    reserved.tokens += tokens;
    reserved.queuedBytes += queuedBytes;
    return [null];
  }
}

const withReserved = (usage: UsageSum, { queuedBytes }: Reserved): StoredBytes => ({
  ...usage,
  queuedBytes: usage.queuedBytes + queuedBytes,
});

/** Refreshes by interval, which no rate limits, that a fleet may queue for one account within a moment. */
const refreshesAtOnce = 100;

/** What an account may be admitted for within a minute at the most. */
const minuteOf = ({ ratePerMinute, burst }: AccountLimits) => ratePerMinute + burst + refreshesAtOnce;

/**
 * Whether the account could use up its quota, or its room in the background, within about a minute: by requests as fast
 * as its rate allows, by what is in flight, and by refreshes, all of it in captures that cost the most. Then the usage
 * must be known to the last entry.
 */
export function isNearLimit(
  state: AdmissionState,
  limits: AccountLimits,
  usage: UsageSum,
  requests: readonly AdmissionRequest[],
): boolean {
  const reserved = reservedIn(state);
  const asked = requests.reduce((sum, { tokens }) => sum + tokens, 0);
  const minute = minuteOf(limits);
  const soon = 2 * (minute + limits.maxInFlight);
  if (usage.tokens + usage.reserved + reserved.tokens + asked + soon > limits.tokenQuota) return true;
  if (isNearQueuedBytes(usage.queuedBytes + reserved.queuedBytes, limits, requests)) return true;
  const later = requests.filter(({ priority }) => priority === 'background').length;
  return later > 0 && usage.queued + reserved.background + later + minute > limits.maxQueued;
}

/** HTML that the fronts cannot receive for one account within the quarter of a second that a rough usage serves: 64 MiB. */
const farBytes = 64 * 1024 * 1024;

/** Whether the HTML that is queued comes near its limit: less than `farBytes`, or less than half of the limit, is left. */
function isNearQueuedBytes(
  queuedBytes: number,
  { maxQueuedBytes }: AccountLimits,
  requests: readonly AdmissionRequest[],
): boolean {
  const asked = requests.reduce((sum, { adds }) => sum + (adds?.queuedBytes ?? 0), 0);
  return asked > 0 && maxQueuedBytes - queuedBytes - asked < Math.max(farBytes, maxQueuedBytes / 2);
}

/**
 * Captures of one account that may have ended without their releases having been written: those of a quarter of a second,
 * at 4,000 a second.
 */
const unwrittenReleases = 1000;

/**
 * Returns whether the account's reservations come near a cap. Far from a cap means: at most a quarter of the captures
 * in flight, or enough room for those that may have ended but are still counted.
 */
export function isNearCap(state: AdmissionState, limits: AccountLimits, usage: UsageSum): boolean {
  const { interactive, background } = reservedIn(state);
  if (interactive > Math.max(limits.maxInFlight / 4, limits.maxInFlight - unwrittenReleases)) return true;
  return background > 0 && usage.queued + background + minuteOf(limits) > limits.maxQueued;
}

/** Captures that clients wait for, by the reservations that have not lapsed, without those of the names that have `ended`. */
export function inFlightOf(state: AdmissionState, now: number, ended: Iterable<string> = []): number {
  return reservedIn(release(withoutLapsed(state, now), ended)).interactive;
}

/** The state without reservations that have ended. */
export function release(state: AdmissionState, ids: Iterable<string>): AdmissionState {
  const named = { ...state.holds };
  for (const id of ids) delete named[id];
  return { ...state, holds: named };
}
