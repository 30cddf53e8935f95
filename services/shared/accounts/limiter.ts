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
 * Rate limits, concurrency limits and quotas of all accounts, across all processes. Throws if NATS does not answer; nothing is admitted
 * without NATS.
 */
export class Limiter {
  readonly #session: NatsSession;
  readonly #live: Entries;
  readonly #usage: UsageReader;
  readonly #now: () => number;
  /** Identifies this process in the values. */
  readonly #front = randomBytes(6).toString('base64url');
  /** Accounts whose state is kept current. */
  readonly #accounts = new Map<string, AccountLimiter>();
  #renewing: NodeJS.Timeout | undefined;

  /** @param now the server's clock, Unix milliseconds */
  constructor(session: NatsSession, usage: UsageReader, now: () => number = session.now) {
    this.#session = session;
    this.#live = new Entries(session, 'live');
    this.#usage = usage;
    this.#now = now;
  }

  /** Reserves what the request needs if the limits allow it. A repeated request is counted once. */
  admit(account: string, limits: AdmissionLimits, request: AdmissionRequest): Promise<AdmissionVerdict> {
    return this.#of(account).admit(limits, request);
  }

  /**
   * Ends a reservation. Near a limit, the release is written when the promise resolves; otherwise it is written later. If a reservation is
   * never released, it expires.
   */
  release(account: string, id: string): Promise<void> {
    return this.#of(account).release(id);
  }

  /**
   * Returns the number of captures of the account for which clients wait, across all fronts. A named reservation does not count if the
   * ledger contains the end of its capture, because the front that should release it may be dead.
   */
  async inFlight(account: string): Promise<number> {
    const found = await this.#live.get<AdmissionState>(limitKey(account));
    const state = found?.value ?? freshAdmissionState;
    const now = Math.max(this.#now(), state.at);
    if (inFlightOf(state, now) === 0) return 0;
    // There are at most `maxNamed` names, so one request reads all of them.
    const names = Object.keys(state.holds);
    const ended = names.length === 0 ? [] : await this.#usage.inLedger(account, names);
    return inFlightOf(state, now, ended);
  }

  /** Writes pending releases before the process ends. Never throws. */
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
