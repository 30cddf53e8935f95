import type { StoredBytes } from '../captures/capture-record.ts';
import type { Priority } from '../nats/streams.ts';
import {
  type AddedBytes,
  type ByteLimits,
  type EmbeddedLimit,
  type ExceededLimit,
  exceededLimit,
} from './byte-limits.ts';

/** Limits of an account. */
export interface AccountLimits extends ByteLimits {
  /** Tokens per calendar month. */
  readonly tokenQuota: number;
  readonly ratePerMinute: number;
  /** Maximum number of requests that an account can send at the same time after a pause. */
  readonly burst: number;
  /** Maximum number of concurrent captures with a waiting client. */
  readonly maxInFlight: number;
  /** Maximum number of background captures that have not ended. */
  readonly maxQueued: number;
}

/** The limits of an account, including that of the store. */
export interface AdmissionLimits extends AccountLimits {
  readonly embedded?: EmbeddedLimit | undefined;
}

/** Usage of the account this month according to the usage ledger, over all shards. */
export interface UsageSum extends StoredBytes {
  readonly tokens: number;
  /** Tokens of background captures that have not ended. */
  readonly reserved: number;
  /** Background captures that have not ended. */
  readonly queued: number;
}

/**
 * A named reservation: its tokens, its expiry (Unix ms) in case it is never released, and the bytes of HTML that it queues (absent: none).
 */
type NamedReservation = readonly [tokens: number, until: number, priority: Priority, queuedBytes?: number];

/**
 * The reservations of one front that the value does not name: their number, their tokens, and their expiry (Unix ms) in case the front
 * dies. `write` is the number of the front's last write. By it, the front can tell whether a write that got no answer was stored.
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
 * The state of one account, changed by compare-and-set, so that limits apply across all fronts. Its size is bounded. Near a limit some
 * reservations are named, so that any front can check which of them have ended. All others are counted by front.
 */
export interface AdmissionState {
  /**
   * Time of the write (Unix ms) by the account's clock, which is the most advanced clock of all fronts. All times in the value use this
   * clock.
   */
  readonly at: number;
  /** Theoretical arrival time of GCRA, Unix ms. */
  readonly tat: number;
  /** Named reservations, under the name of the stored format. */
  readonly holds: Readonly<Record<string, NamedReservation>>;
  readonly fronts: Readonly<Record<string, FrontReservations>>;
}

export const freshAdmissionState: AdmissionState = { at: 0, tat: 0, holds: {}, fronts: {} };

/** Maximum number of named reservations of an account. */
export const maxNamed = 64;

export interface AdmissionRequest {
  /** Identifies the reservation: the uuid of the capture, or a name from `refreshReservation`. */
  readonly id: string;
  readonly tokens: number;
  readonly priority: Priority;
  /** Whether the rate limit does not apply, because no client has sent the request. */
  readonly unrated?: boolean;
  /** Expiry of the reservation, Unix milliseconds. */
  readonly until: number;
  /** Bytes that the capture stores. Only `queuedBytes` are reserved. */
  readonly adds?: AddedBytes | undefined;
}

export interface AdmissionVerdict {
  readonly refused: 'rate' | 'quota' | 'bytes' | 'in-flight' | 'queued' | null;
  /** Set if the request was refused because of its bytes. */
  readonly exceeded?: ExceededLimit | undefined;
  /** Number of requests that the rate limit allows now. */
  readonly remaining: number;
  /** Time until the full burst is available again. */
  readonly resetMs: number;
  /** Time until the request would be admitted, if the rate limit refused it. */
  readonly retryAfterMs: number;
}

/** Sums of reservations. */
export interface Reserved {
  readonly interactive: number;
  readonly background: number;
  readonly tokens: number;
  readonly queuedBytes: number;
}

export const nothingReserved: Reserved = { interactive: 0, background: 0, tokens: 0, queuedBytes: 0 };

/** Returns the sums with the reservation of a request, or without it. */
export function withReservation(
  sums: Reserved,
  { priority, tokens, adds: { queuedBytes = 0 } = {} }: Pick<AdmissionRequest, 'priority' | 'tokens' | 'adds'>,
  sign: 1 | -1 = 1,
): Reserved {
  return {
    ...sums,
    [priority]: sums[priority] + sign,
    tokens: sums.tokens + sign * tokens,
    queuedBytes: sums.queuedBytes + sign * queuedBytes,
  };
}

function reservedIn({ holds: named, fronts }: AdmissionState): Reserved {
  const ofFronts = Object.values(fronts).reduce(
    (sums, [interactive, background, tokens, , , queuedBytes]) => ({
      interactive: sums.interactive + interactive,
      background: sums.background + background,
      tokens: sums.tokens + tokens,
      queuedBytes: sums.queuedBytes + queuedBytes,
    }),
    nothingReserved,
  );
  return Object.values(named).reduce(
    (sums, [tokens, , priority, queuedBytes = 0]) => withReservation(sums, { priority, tokens, adds: { queuedBytes } }),
    ofFronts,
  );
}

/** Returns the state without expired reservations and without reservations of dead fronts. */
function withoutLapsed(state: AdmissionState, now: number): AdmissionState {
  const named = Object.entries(state.holds).filter(([, [, until]]) => until > now);
  const fronts = Object.entries(state.fronts).filter(([, [, , , expires]]) => expires > now);
  return { ...state, holds: Object.fromEntries(named), fronts: Object.fromEntries(fronts) };
}

/**
 * Decides on requests in order, and returns the state with named reservations for the admitted ones. The rate limit is
 * GCRA (the virtual scheduling algorithm of ITU-T I.371): a request passes if its theoretical arrival time is at most
 * `burst` intervals ahead. Then the quota is checked, then the bytes, then the concurrency limits.
 *
 * @param now by the clock of the account
 * @param admitted ids that have a reservation that the state only counts
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
  let reserved = reservedIn(current);
  // An admission never moves the arrival time further ahead than the window. A larger value was stored under lower limits. It must not
  // delay requests under the current ones.
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
    // An earlier attempt, whose answer was lost, has admitted the request.
    if (named.has(request.id) || admitted.has(request.id)) return [null];
    if (request.unrated !== true) {
      if (tat + intervalMs - now > windowMs + 1e-6) return ['rate'];
      tat += intervalMs;
      isChanged = true;
    }
    const { priority, tokens, until, adds = {} } = request;
    if (usage.tokens + usage.reserved + reserved.tokens + tokens > limits.tokenQuota) return ['quota'];
    const stored = { ...usage, queuedBytes: usage.queuedBytes + reserved.queuedBytes };
    const exceeded = exceededLimit(stored, adds, limits);
    if (exceeded !== null) return ['bytes', exceeded];
    if (priority === 'interactive' && reserved.interactive >= limits.maxInFlight) return ['in-flight'];
    if (priority === 'background' && usage.queued + reserved.background >= limits.maxQueued) return ['queued'];
    const { queuedBytes = 0 } = adds;
    named.set(request.id, queuedBytes === 0 ? [tokens, until, priority] : [tokens, until, priority, queuedBytes]);
    reserved = withReservation(reserved, request);
    return [null];
  }
}

/** Maximum number of queued scheduled refreshes of one account. No rate limit applies to them. */
const refreshesAtOnce = 100;

/** More HTML than all fronts can receive for one account during the lifetime of a rough usage, 250 ms. */
const farBytes = 64 * 1024 * 1024;

/**
 * Returns whether the account could reach a limit that depends on the usage ledger within about a minute: its quota, its background
 * captures, or their HTML. In this case the exact usage is required. The estimate assumes that requests arrive at the maximum rate, and
 * that they, the captures in flight and the refreshes all have the maximum cost.
 */
export function isNearUsageLimit(state: AdmissionState, limits: AccountLimits, usage: UsageSum): boolean {
  const { background, tokens, queuedBytes } = reservedIn(state);
  const minute = limits.ratePerMinute + limits.burst + refreshesAtOnce;
  const soon = 2 * (minute + limits.maxInFlight);
  if (usage.tokens + usage.reserved + tokens + soon > limits.tokenQuota) return true;
  const bytesLeft = limits.maxQueuedBytes - usage.queuedBytes - queuedBytes;
  if (queuedBytes > 0 && bytesLeft < Math.max(farBytes, limits.maxQueuedBytes / 2)) return true;
  return background > 0 && usage.queued + background + minute > limits.maxQueued;
}

/**
 * Number of captures of one account that may have ended without a written release: the captures of a quarter of a second, at 4,000 a
 * second.
 */
const unwrittenReleases = 1000;

/**
 * Returns whether the account is near its limit of captures in flight. It is not near if at most a quarter of the limit is in flight. It is
 * not near either if there is room for the captures that may have ended but are still counted.
 */
export function isNearInFlightLimit(state: AdmissionState, { maxInFlight }: AccountLimits): boolean {
  return reservedIn(state).interactive > Math.max(maxInFlight / 4, maxInFlight - unwrittenReleases);
}

/** Returns the number of captures with a waiting client, by reservations that have not expired. Omits the named ones in `ended`. */
export function inFlightOf(state: AdmissionState, now: number, ended: Iterable<string> = []): number {
  return reservedIn(release(withoutLapsed(state, now), ended)).interactive;
}

/** Returns the state without these reservations. */
export function release(state: AdmissionState, ids: Iterable<string>): AdmissionState {
  const named = { ...state.holds };
  for (const id of ids) delete named[id];
  return { ...state, holds: named };
}
