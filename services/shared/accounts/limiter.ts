import { randomBytes } from 'node:crypto';
import type { NatsSession } from '../nats/connect.ts';
import { Entries } from '../nats/entries.ts';
import { AccountLimiter, limitKey, renewIntervalMs, type UsageReader } from './account-limiter.ts';
import {
  type AdmissionLimits,
  type AdmissionRequest,
  type AdmissionState,
  type AdmissionVerdict,
  freshAdmissionState,
  inFlightOf,
} from './limits.ts';

/**
 * Rate limit, cap in flight and quota of all accounts, over all processes. Throws when NATS does not answer: without it
 * nothing is admitted.
 */
export class Limiter {
  readonly #session: NatsSession;
  readonly #live: Entries;
  readonly #usage: UsageReader;
  readonly #now: () => number;
  /** Names this process in the values. */
  readonly #front = randomBytes(6).toString('base64url');
  /** Those of which there is something to know. */
  readonly #accounts = new Map<string, AccountLimiter>();
  #renewing: NodeJS.Timeout | undefined;

  /** `now`: the server's clock, Unix ms. */
  constructor(session: NatsSession, usage: UsageReader, now: () => number = session.now) {
    this.#session = session;
    this.#live = new Entries(session, 'live');
    this.#usage = usage;
    this.#now = now;
  }

  /** Reserves what the request needs, if the limits allow it. The same request again is not counted again. */
  admit(account: string, limits: AdmissionLimits, request: AdmissionRequest): Promise<AdmissionVerdict> {
    return this.#of(account).admit(limits, request);
  }

  /**
   * Ends a reservation: near a limit when it resolves, far from all of them within a moment. One that is never released
   * lapses.
   */
  release(account: string, id: string): Promise<void> {
    return this.#of(account).release(id);
  }

  /**
   * Captures of the account that clients wait for, over all fronts. A named reservation does not count once the ledger has
   * the end of its capture, although the front that would release it may be dead: an admission sorts it out likewise.
   */
  async inFlight(account: string): Promise<number> {
    const found = await this.#live.get<AdmissionState>(limitKey(account));
    const state = found?.value ?? freshAdmissionState;
    const now = Math.max(this.#now(), state.at);
    if (inFlightOf(state, now) === 0) return 0;
    // At most `maxNamed` names, read in one request.
    const names = Object.keys(state.holds);
    const ended = names.length === 0 ? [] : await this.#usage.inLedger(account, names);
    return inFlightOf(state, now, ended);
  }

  /** Writes the releases that are not written yet: before the process ends. Never throws. */
  async flush(): Promise<void> {
    const unwritten = [...this.#accounts.values()].filter(({ isWritten }) => !isWritten);
    await Promise.allSettled(unwritten.map((limiter) => limiter.write()));
  }

  #of(account: string): AccountLimiter {
    const known = this.#accounts.get(account);
    if (known !== undefined) return known;
    const { nc } = this.#session;
    const limiter = new AccountLimiter(account, {
      live: this.#live,
      front: this.#front,
      usage: this.#usage,
      now: this.#now,
      isClosed: () => nc.isClosed(),
    });
    this.#accounts.set(account, limiter);
    this.#renewing ??= setInterval(() => this.#renew(), renewIntervalMs).unref();
    return limiter;
  }

  #renew(): void {
    const isClosed = this.#session.nc.isClosed();
    for (const [account, limiter] of this.#accounts) {
      if (isClosed || !limiter.renew()) this.#accounts.delete(account);
    }
    if (this.#accounts.size > 0) return;
    clearInterval(this.#renewing);
    this.#renewing = undefined;
  }
}
