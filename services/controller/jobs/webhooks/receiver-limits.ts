import type { AttemptResult } from './send.ts';

/** Maximum concurrent delivery attempts. Each uses one connection, and mostly waits for the receiver. */
export const maxDeliveries = 256;

/** Maximum concurrent attempts of one account to all its receivers. */
const maxOfAccount = 32;

/**
 * Maximum number of concurrent attempts to all receivers of a kind. Receivers that answered recently always have capacity left, and stuck
 * receivers do not use up the capacity of new ones.
 */
const maxByKind = { proven: maxDeliveries, unproven: maxDeliveries / 2, slow: maxDeliveries / 8 } as const;

/** Initial limit of concurrent attempts to a receiver. Each quick answer raises the limit by one. */
const firstLimit = 2;
const maxLimit = 32;

/** Duration above which an attempt is slow. An attempt without an answer has timed out. */
const slowMs = 2000;

/** Assumed mean duration before the first attempt. */
const initialMeanMs = 50;

/** Number of consecutive timeouts after which a receiver is unavailable. Its attempts are then sequential. */
const hangsToOpen = 3;

/** Interval between trials of an unavailable receiver. It doubles from the first to the maximum. */
const trialAfterMs = { first: 5000, max: 60_000 } as const;

/** Maximum time that an event waits for an unavailable receiver. It then counts as attempted, so that events do not pile up. */
const maxWaitMs = 60_000;

const minDeferMs = 250;
const maxDeferMs = 60_000;

/** Maximum number of known receivers; the least recently used is forgotten. */
const maxReceivers = 10_000;

interface Receiver {
  limit: number;
  inFlight: number;
  /**
   * When the next deferred attempt is retried, in Unix ms. The interval between deferred attempts depends on how fast the receiver answers.
   */
  nextTurnAt: number;
  /** Mean duration of an attempt. */
  meanMs: number;
  /** `proven` means that the last attempt was answered quickly. */
  kind: keyof typeof maxByKind;
  /** Number of consecutive timeouts. */
  hangs: number;
  /** Time of the next trial if the receiver is unavailable, in Unix milliseconds. */
  nextTrialAt: number;
}

/** The account and the receiver of an event. */
export interface Destination {
  readonly account: string;
  /** Host and port. */
  readonly receiver: string;
}

/** The answer to {@link ReceiverLimits.ask}: send now; retry later; or count the attempt as failed, because the receiver is unavailable. */
export type Turn =
  | {
      readonly verdict: 'send';
      readonly end: (result: AttemptResult, ms: number) => void;
      readonly release: () => void;
    }
  | { readonly verdict: 'defer'; readonly retryInMs: number }
  | { readonly verdict: 'skip' };

/**
 * Shares delivery attempts among receivers, so that a stuck receiver does not delay others. Each receiver gets a few concurrent attempts. A
 * quick receiver gets more, and one that does not answer gets a single attempt. The state is kept in memory; a new leader builds it up
 * again within seconds.
 */
export class ReceiverLimits {
  readonly #now: () => number;
  readonly #random: () => number;
  /** Receivers in the order of their last use. */
  readonly #receivers = new Map<string, Receiver>();
  readonly #inFlight = { proven: 0, unproven: 0, slow: 0 };
  readonly #inFlightOfAccount = new Map<string, number>();

  /** `now` in Unix milliseconds. */
  constructor(now: () => number = Date.now, random: () => number = Math.random) {
    this.#now = now;
    this.#random = random;
  }

  /** Number of unavailable receivers. */
  get unavailable(): number {
    return [...this.#receivers.values()].filter(({ hangs }) => hangs >= hangsToOpen).length;
  }

  /** Requests a turn for an attempt that was due at `dueAt`, Unix milliseconds. */
  ask({ account, receiver: name }: Destination, dueAt: number): Turn {
    const receiver = this.#receiver(name);
    const now = this.#now();
    const hasRoom = this.#hasRoom(receiver, account);
    if (receiver.hangs >= hangsToOpen) {
      if (hasRoom && receiver.inFlight === 0 && now >= receiver.nextTrialAt) return this.#send(receiver, account);
      if (now - dueAt > maxWaitMs) return { verdict: 'skip' };
      return deferred(Math.max(receiver.nextTrialAt - now, trialAfterMs.first) * (1 + this.#random()));
    }
    if (hasRoom && receiver.inFlight < receiver.limit) return this.#send(receiver, account);
    const turnAt = Math.max(now, receiver.nextTurnAt) + receiver.meanMs / receiver.limit;
    receiver.nextTurnAt = Math.min(turnAt, now + maxDeferMs);
    return deferred((turnAt - now) * (1 + this.#random() / 4));
  }

  #hasRoom({ kind }: Receiver, account: string): boolean {
    const { proven, unproven, slow } = this.#inFlight;
    if (this.#inFlight[kind] >= maxByKind[kind] || proven + unproven + slow >= maxDeliveries) return false;
    return (this.#inFlightOfAccount.get(account) ?? 0) < maxOfAccount;
  }

  #send(receiver: Receiver, account: string): Turn {
    const { kind } = receiver;
    const count = (by: 1 | -1) => {
      receiver.inFlight += by;
      this.#inFlight[kind] += by;
      const ofAccount = (this.#inFlightOfAccount.get(account) ?? 0) + by;
      if (ofAccount === 0) this.#inFlightOfAccount.delete(account);
      else this.#inFlightOfAccount.set(account, ofAccount);
    };
    count(1);
    return { verdict: 'send', end: (result, ms) => this.#learn(receiver, result, ms), release: () => count(-1) };
  }

  #learn(receiver: Receiver, result: AttemptResult, ms: number): void {
    const hasAnswered = result.delivered || result.status !== undefined;
    receiver.meanMs += (ms - receiver.meanMs) / 4;
    if (!hasAnswered && ms >= slowMs) {
      receiver.hangs++;
      receiver.kind = 'slow';
      receiver.limit = 1;
      const trialMs = trialAfterMs.first * 2 ** Math.max(0, receiver.hangs - hangsToOpen);
      receiver.nextTrialAt = this.#now() + Math.min(trialMs, trialAfterMs.max);
      return;
    }
    receiver.hangs = 0;
    if (ms >= slowMs) {
      receiver.kind = 'slow';
      receiver.limit = Math.max(1, Math.floor(receiver.limit / 2));
    } else if (hasAnswered) {
      receiver.kind = 'proven';
      receiver.limit = Math.min(maxLimit, receiver.limit + 1);
    }
  }

  #receiver(name: string): Receiver {
    const known = this.#receivers.get(name) ?? {
      limit: firstLimit,
      inFlight: 0,
      nextTurnAt: 0,
      meanMs: initialMeanMs,
      kind: 'unproven',
      hangs: 0,
      nextTrialAt: 0,
    };
    this.#receivers.delete(name);
    this.#receivers.set(name, known);
    for (const [oldest, { inFlight }] of this.#receivers) {
      if (this.#receivers.size <= maxReceivers || inFlight > 0) break;
      this.#receivers.delete(oldest);
    }
    return known;
  }
}

const deferred = (ms: number): Turn => ({
  verdict: 'defer',
  retryInMs: Math.round(Math.min(Math.max(ms, minDeferMs), maxDeferMs)),
});
