/** What an account may do. */
export interface AccountLimits {
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

/** What the books say of the account this month, over all shards. */
export interface UsageSum {
  readonly tokens: number;
  /** Tokens of background captures that have not ended. */
  readonly reserved: number;
  /** Background captures that have not ended. */
  readonly queued: number;
}

type Lane = 'interactive' | 'background';

/**
 * A place taken by a capture in flight: its tokens, and when it lapses (Unix ms) should its front die. An interactive
 * capture holds it to its end, a background one until the books have its reservation.
 */
type Hold = readonly [tokens: number, until: number, lane: Lane];

/** Kept per account as one value, changed by compare-and-set: limits hold over all fronts. */
export interface AdmissionState {
  /** Theoretical arrival time of GCRA, Unix ms. */
  readonly tat: number;
  readonly holds: Readonly<Record<string, Hold>>;
}

export const freshAdmissionState: AdmissionState = { tat: 0, holds: {} };

export interface AdmissionRequest {
  /** Names the hold. */
  readonly id: string;
  readonly tokens: number;
  readonly lane: Lane;
  /** No request of a client: the rate limit does not count it. */
  readonly unrated?: boolean;
  /** When the hold lapses by itself, Unix ms. */
  readonly until: number;
}

export interface AdmissionVerdict {
  readonly refused: 'rate' | 'quota' | 'in-flight' | 'queued' | null;
  /** Requests that would pass the rate limit right now. */
  readonly remaining: number;
  /** Until `remaining` is the whole burst again. */
  readonly resetMs: number;
  /** Of a request that the rate limit refused: until it would pass. */
  readonly retryAfterMs: number;
}

/**
 * Decides on requests in their order and returns the state with the holds of those that were admitted.
 * The rate limit is GCRA (the virtual scheduling algorithm of ITU-T I.371): a request passes when its theoretical
 * arrival time is at most `burst` intervals ahead. Quota is checked after it, then the caps.
 */
export function admit(
  state: AdmissionState,
  limits: AccountLimits,
  usage: UsageSum,
  requests: readonly AdmissionRequest[],
  now: number,
): { state: AdmissionState; verdicts: AdmissionVerdict[] } {
  const intervalMs = 60_000 / limits.ratePerMinute;
  const windowMs = intervalMs * limits.burst;
  const holds = new Map(Object.entries(state.holds).filter(([, [, until]]) => until > now));
  let tat = Math.max(state.tat, now);
  const verdicts = requests.map((request) => {
    const refused = refusal(request);
    const aheadMs = Math.max(0, tat - now);
    return {
      refused,
      remaining: Math.max(0, Math.floor((windowMs - aheadMs) / intervalMs + 1e-9)),
      resetMs: aheadMs,
      retryAfterMs: refused === 'rate' ? Math.max(0, tat + intervalMs - windowMs - now) : 0,
    };
  });
  return { state: { tat, holds: Object.fromEntries(holds) }, verdicts };

  function refusal(request: AdmissionRequest): AdmissionVerdict['refused'] {
    // An earlier try, whose answer was lost, has admitted it.
    if (holds.has(request.id)) return null;
    if (request.unrated !== true) {
      if (tat + intervalMs - now > windowMs + 1e-6) return 'rate';
      tat += intervalMs;
    }
    const inLane = [...holds.values()].filter(([, , lane]) => lane === request.lane).length;
    const held = [...holds.values()].reduce((sum, [tokens]) => sum + tokens, 0);
    if (usage.tokens + usage.reserved + held + request.tokens > limits.tokenQuota) return 'quota';
    if (request.lane === 'interactive' && inLane >= limits.maxInFlight) return 'in-flight';
    if (request.lane === 'background' && usage.queued + inLane >= limits.maxQueued) return 'queued';
    holds.set(request.id, [request.tokens, request.until, request.lane]);
    return null;
  }
}

/** Refreshes by interval, which no rate limits, that a fleet may book for one account within a moment. */
const refreshesAtOnce = 100;

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
  const holds = Object.values(state.holds);
  const held = holds.reduce((sum, [tokens]) => sum + tokens, 0);
  const asked = requests.reduce((sum, { tokens }) => sum + tokens, 0);
  const minute = limits.ratePerMinute + limits.burst + refreshesAtOnce;
  const soon = 2 * (minute + limits.maxInFlight);
  if (usage.tokens + usage.reserved + held + asked + soon > limits.tokenQuota) return true;
  const later = requests.filter(({ lane }) => lane === 'background').length;
  const inLane = holds.filter(([, , lane]) => lane === 'background').length;
  return later > 0 && usage.queued + inLane + later + minute > limits.maxQueued;
}

/** Captures that clients wait for, by the holds that have not lapsed. */
export function inFlightOf(state: AdmissionState, now: number): number {
  return Object.values(state.holds).filter(([, until, lane]) => until > now && lane === 'interactive').length;
}

/** The state without the holds that have ended. */
export function release(state: AdmissionState, ids: readonly string[]): AdmissionState {
  const holds = Object.entries(state.holds).filter(([id]) => !ids.includes(id));
  return { tat: state.tat, holds: Object.fromEntries(holds) };
}
