import type { AttemptResult } from './send.ts';

/** Delivery attempts under way at once: each is one connection, and most of its time is the receiver's. */
export const maxDeliveries = 256;

/** So many of these may be of one account, whatever its receivers. */
const maxOfAccount = 32;

/**
 * How many attempts there may be to all receivers of a kind. Those that have answered lately find room whatever the
 * others do, and what is new is not kept out by what hangs.
 */
const maxByKind = { proven: maxDeliveries, unproven: maxDeliveries / 2, slow: maxDeliveries / 8 } as const;

/** Attempts at once to one receiver: it begins with few, and each quick answer allows one more. */
const firstLimit = 2;
const maxLimit = 32;

/** An attempt that takes longer is slow; without an answer, it hung. */
const slowMs = 2000;

/** What an attempt is taken to last before there was one. */
const initialMeanMs = 50;

/** After so many attempts that hung, one after the other, a receiver counts as unavailable: then it is tried one at a time. */
const hangsToOpen = 3;

/** From one trial of an unavailable receiver to the next: doubling from the first. */
const trialAfterMs = { first: 5000, max: 60_000 } as const;

/** An event that has waited for an unavailable receiver for so long counts as tried: else events would pile up. */
const maxWaitMs = 60_000;

const minDeferMs = 250;
const maxDeferMs = 60_000;

/** What has not been heard of for longest is forgotten beyond this. */
const maxReceivers = 10_000;

interface Receiver {
  limit: number;
  inFlight: number;
  /** When the next attempt that is put off comes again: one after the other, at the pace of the receiver. Unix ms. */
  nextTurnAt: number;
  /** Of an attempt, on average. */
  meanMs: number;
  /** It has answered, and quickly, when it was tried last. */
  kind: keyof typeof maxByKind;
  /** Attempts in a row that hung. */
  hangs: number;
  /** Unix milliseconds; of one that is unavailable. */
  nextTrialAt: number;
}

/** Whose event it is, and where it goes. */
export interface Destination {
  readonly account: string;
  /** Host and port. */
  readonly receiver: string;
}

/** May be sent; is to come again later; or counts as tried, since the receiver is unavailable. */
export type Turn =
  | {
      readonly verdict: 'send';
      readonly end: (result: AttemptResult, ms: number) => void;
      readonly release: () => void;
    }
  | { readonly verdict: 'defer'; readonly retryInMs: number }
  | { readonly verdict: 'skip' };

/**
 * Shares the delivery attempts among receivers, so that one that hangs costs the others nothing: few attempts at once to
 * each, more to those that answer quickly, one at a time to those that do not answer. For one process and in memory: a
 * new leader learns it anew within seconds.
 */
export class ReceiverLimits {
  readonly #now: () => number;
  readonly #random: () => number;
  /** In the order of their last use. */
  readonly #receivers = new Map<string, Receiver>();
  readonly #inFlight = { proven: 0, unproven: 0, slow: 0 };
  readonly #inFlightOfAccount = new Map<string, number>();

  /** `now` in Unix milliseconds. */
  constructor(now: () => number = Date.now, random: () => number = Math.random) {
    this.#now = now;
    this.#random = random;
  }

  /** Receivers that are unavailable. */
  get unavailable(): number {
    return [...this.#receivers.values()].filter(({ hangs }) => hangs >= hangsToOpen).length;
  }

  /** Asks for a turn of an attempt that was due at a time, Unix milliseconds. */
  ask({ account, receiver: name = `account ${account}` }: Destination, dueAt: number): Turn {
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
