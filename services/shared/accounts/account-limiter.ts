import { isTransient, isWriteConflict } from '../nats/api-errors.ts';
import type { Entries, Entry } from '../nats/entries.ts';
import { delay } from '../runtime/deadline.ts';
import type { AccountUsage } from './account-usage.ts';
import {
  admit,
  freshAdmissionState,
  isNearInFlightLimit,
  isNearUsageLimit,
  maxNamed,
  release,
  type AdmissionLimits,
  type AdmissionRequest,
  type AdmissionState,
  type AdmissionVerdict,
  type Reserved,
  type UsageSum,
  withReservation,
} from './limits.ts';
import { OwnReservations } from './own-reservations.ts';

export type UsageReader = Pick<AccountUsage, 'read' | 'inLedger'>;

interface AccountLimiterDeps {
  readonly live: Entries;
  /** Identifies this process in the value. */
  readonly front: string;
  readonly usage: UsageReader;
  /** The server's clock, Unix milliseconds. */
  readonly now: () => number;
  /** Whether the connection is closed permanently. */
  readonly isClosed: () => boolean;
}

interface Admit {
  readonly limits: AdmissionLimits;
  readonly request: AdmissionRequest;
  readonly resolve: (verdict: AdmissionVerdict) => void;
  readonly reject: (error: unknown) => void;
}

/** A pending write of changes. If it belongs to the end of a reservation, it has the reservation's id. */
interface Write {
  readonly id?: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type Operation = Admit | Write;

/** The verdicts, and the new state. In the state, the reservations of the admitted requests are named. */
interface Decision {
  readonly state: AdmissionState;
  readonly verdicts: readonly AdmissionVerdict[];
  /** Whether the account is near a limit other than the rate. */
  readonly isNear: boolean;
}

const maxAttempts = 100;

/** Maximum age of a cached rough usage. `isNearUsageLimit` accounts for what may be charged during this time. */
const usageTtlMs = 250;

/** Far from every limit, a release waits this long. If an admission follows within this time, both share one write. */
const releaseDelayMs = 250;

/** Time for which an account that was far from its limits counts as far. Reaching a limit from there takes at least a minute. */
const farMs = 10_000;

/**
 * Lease of the reservations that the value only counts, from the last write of their front. Captures that ended with their process lose
 * their reservations within these 10 s.
 */
const leaseTtlMs = 10_000;

/**
 * Interval of the renewals of leases. At 4 s, one lost renewal does not end a lease. Accounts without requests are dropped at the same
 * interval.
 */
export const renewIntervalMs = 4000;

/** Delay before a failed write is retried. */
const retryDelayMs = 1000;

/** Key of the limits of an account in the live bucket. */
export const limitKey = (account: string) => `limit.${account}`;

/**
 * Rate limit, concurrency limit and quota of one account. Their state is a value in the live bucket, changed by compare-and-set. Requests
 * that arrive during a change share the next change, so a busy account needs one round trip for many requests. Near a limit, the value
 * names a few reservations. All others are counted by front under a lease. The size of the value and the cost of a change therefore do not
 * depend on the number of captures in flight.
 */
export class AccountLimiter {
  readonly #account: string;
  readonly #deps: AccountLimiterDeps;
  readonly #own = new OwnReservations();
  #waiting: Operation[] = [];
  #isServed = false;
  #usage: { readonly sum: UsageSum; readonly readAt: number } | null = null;
  /** Milliseconds by which the account's clock is ahead of the clock of this process. */
  #aheadMs = 0;
  /** Time (by the clock of this process) until which the account counts as far from all limits. */
  #farUntil = -Infinity;
  #writing: NodeJS.Timeout | undefined;
  #usedAt = performance.now();
  #writes = 0;
  /** Counted reservations of writes that got no answer. They exist if the write was stored. */
  #unconfirmed: { readonly write: number; readonly counted: readonly AdmissionRequest[] }[] = [];

  constructor(account: string, deps: AccountLimiterDeps) {
    this.#account = account;
    this.#deps = deps;
  }

  admit(limits: AdmissionLimits, request: AdmissionRequest): Promise<AdmissionVerdict> {
    return new Promise((resolve, reject) => this.#add({ limits, request, resolve, reject }));
  }

  release(id: string): Promise<void> {
    if (performance.now() < this.#farUntil && this.#own.release(id)) {
      this.#writeLater(releaseDelayMs);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => this.#add({ id, resolve, reject }));
  }

  /** Whether all releases of this process are written. */
  get isWritten(): boolean {
    return this.#own.isWritten;
  }

  write(): Promise<void> {
    return new Promise((resolve, reject) => this.#add({ resolve, reject }));
  }

  /** Renews the lease of this process's reservations if it is due. Returns false if this process need not keep the account. */
  renew(): boolean {
    this.#own.lapse(this.#deps.now());
    const isQuiet = this.#own.isEmpty && this.#own.isWritten && !this.#isServed;
    if (isQuiet && performance.now() - this.#usedAt > renewIntervalMs) return false;
    if (!this.#own.isWritten || hasReservations(this.#own.sums)) this.write().catch(() => undefined);
    return true;
  }

  #add(operation: Operation): void {
    this.#usedAt = performance.now();
    this.#waiting.push(operation);
    if (!this.#isServed) void this.#serve();
  }

  /** Schedules a write of pending changes, in case no admission writes them earlier. */
  #writeLater(afterMs: number): void {
    if (this.#writing !== undefined) return;
    this.#writing = setTimeout(() => {
      this.#writing = undefined;
      // A failed write is scheduled again.
      if (!this.#own.isWritten && !this.#deps.isClosed()) this.write().catch(() => undefined);
    }, afterMs).unref();
  }

  async #serve(): Promise<void> {
    this.#isServed = true;
    while (this.#waiting.length > 0) {
      const operations = this.#waiting;
      this.#waiting = [];
      try {
        await this.#apply(operations);
      } catch (error) {
        for (const { reject } of operations) reject(error);
        if (!this.#own.isWritten) this.#writeLater(retryDelayMs);
      }
    }
    this.#isServed = false;
  }

  /** Does not use `compareAndSet`: there, an attempt that timed out would continue during the next one, and change the known state. */
  async #apply(operations: readonly Operation[]): Promise<void> {
    const admits = operations.filter((operation) => 'request' in operation);
    const writes = operations.filter((operation): operation is Write => !('request' in operation));
    const released = new Set(writes.flatMap(({ id }) => id ?? []));
    for (let attempt = 1; ; attempt++) {
      try {
        const verdicts = await this.#change(admits, released);
        for (const { resolve } of writes) resolve();
        for (const [index, verdict] of verdicts.entries()) admits[index]?.resolve(verdict);
        return;
      } catch (error) {
        if (!isWriteConflict(error) || isTransient(error) || attempt >= maxAttempts) throw error;
        await delay(Math.random() * Math.min(attempt, 20));
      }
    }
  }

  /** Decides and writes once. Throws a write conflict if another front has written meanwhile; nothing has changed then. */
  async #change(admits: readonly Admit[], released: ReadonlySet<string>): Promise<readonly AdmissionVerdict[]> {
    const own = this.#own;
    const found = await this.#deps.live.get<AdmissionState>(limitKey(this.#account));
    const before = found?.value ?? freshAdmissionState;
    this.#confirm(before);
    const now = this.#accountClock(before);
    own.lapse(this.#deps.now());
    for (const id of released) own.release(id);

    const current = this.#withOwn(release(before, released), own.sums, now);
    const decision = await this.#decide(current, admits);
    // A caller that aborted its admission also releases the reservation, because it may still get one.
    const wanted = admits.map(({ request }) => request).filter(({ id }) => !released.has(id));
    const counted = unnamed(wanted, before, decision);
    const sums = counted.reduce((sum, request) => withReservation(sum, request), own.sums);
    const { version } = own;
    const named = release(decision.state, [...released, ...counted.map(({ id }) => id)]);
    const state = this.#withOwn(named, sums, now);
    if (this.#differs(before, state, now)) await this.#put(found, state, counted);
    own.written(version);
    for (const request of counted) own.add(request);
    return decision.verdicts;
  }

  async #put(
    found: Entry<AdmissionState> | null,
    state: AdmissionState,
    counted: readonly AdmissionRequest[],
  ): Promise<void> {
    const { live } = this.#deps;
    const key = limitKey(this.#account);
    const ends = [
      ...Object.values(state.holds).map(([, until]) => until),
      ...Object.values(state.fronts).map(([, , , expires]) => expires),
    ];
    const lastsMs = ends.reduce((last, end) => Math.max(last, end), state.tat) - state.at;
    const ttlSeconds = Math.ceil(Math.max(0, lastsMs) / 1000) + 60;
    try {
      if (found === null) await live.create(key, state, { ttlSeconds });
      else await live.update(key, state, found.revision, { ttlSeconds });
      this.#unconfirmed = [];
    } catch (error) {
      if (!isWriteConflict(error)) {
        this.#unconfirmed.push({ write: this.#writes, counted });
        this.#own.doubt();
      }
      throw error;
    }
  }

  /** Adds the reservations of a write that got no answer, if the value shows that it was stored. */
  #confirm(state: AdmissionState): void {
    const written = state.fronts[this.#deps.front]?.[4];
    const landed = this.#unconfirmed.find(({ write }) => write === written);
    if (landed === undefined) return;
    for (const request of landed.counted) this.#own.add(request);
    this.#unconfirmed = this.#unconfirmed.filter(({ write }) => write > landed.write);
  }

  /**
   * Returns the time of the account's clock. It is this process's clock, or as far ahead of it as the most advanced front's clock was when
   * that front wrote. The account's clock never runs back. Fronts with different clocks use it, and thus share one rate: none is starved,
   * and none gets a double share.
   */
  #accountClock({ at }: AdmissionState): number {
    const now = this.#deps.now();
    this.#aheadMs = Math.max(this.#aheadMs, at === 0 ? 0 : at - now);
    return now + this.#aheadMs;
  }

  /** Returns the state with the current reservations of this process. */
  #withOwn(state: AdmissionState, sums: Reserved, now: number): AdmissionState {
    const fronts = { ...state.fronts };
    if (hasReservations(sums)) {
      const { interactive, background, tokens, queuedBytes } = sums;
      const expires = now + leaseTtlMs;
      fronts[this.#deps.front] = [interactive, background, tokens, expires, ++this.#writes, queuedBytes];
    } else delete fronts[this.#deps.front];
    return { at: now, tat: state.tat, holds: state.holds, fronts };
  }

  /** Whether there is a change to write. Refusals and repeated releases change nothing. */
  #differs(before: AdmissionState, after: AdmissionState, now: number): boolean {
    if (before.tat !== after.tat || JSON.stringify(before.holds) !== JSON.stringify(after.holds)) return true;
    const [was, is] = [before, after].map(({ fronts }) => fronts[this.#deps.front]);
    if (was === undefined || is === undefined) return was !== is;
    const isOld = was[3] - now <= leaseTtlMs - renewIntervalMs / 2;
    return isOld || [0, 1, 2, 5].some((index) => (was[index] ?? 0) !== is[index]);
  }

  /**
   * Decides on requests. Reads the usage after the reservations, so that a capture that ends meanwhile is counted twice rather than not at
   * all. Far from every limit, a recent usage is sufficient. A request is refused for another reason than the rate only after a second
   * check. For that check, named reservations that the ledger already contains are removed: those counted twice, and those of dead fronts.
   */
  async #decide(state: AdmissionState, admits: readonly Admit[]): Promise<Decision> {
    const limits = admits.at(-1)?.limits;
    if (limits === undefined) return { state, verdicts: [], isNear: false };
    const requests = admits.map(({ request }) => ({ ...request, until: request.until + this.#aheadMs }));
    const decide = (from: AdmissionState, usage: UsageSum) => admit(from, limits, usage, requests, state.at, this.#own);
    const usage = await this.#recentUsage();
    let decision = decide(state, usage);
    const isNearUsage = isRefused(decision, usageRefusals) || isNearUsageLimit(decision.state, limits, usage);
    if (isNearUsage) decision = decide(state, await this.#exactUsage());
    const isNear = isNearUsage || isNearInFlightLimit(decision.state, limits);
    this.#farUntil = isNear ? -Infinity : performance.now() + farMs;
    if (!isRefused(decision, [...usageRefusals, 'in-flight'])) return { ...decision, isNear };
    const ended = await this.#deps.usage.inLedger(this.#account, Object.keys(state.holds));
    if (ended.length === 0) return { ...decision, isNear };
    return { ...decide(release(state, ended), await this.#exactUsage()), isNear };
  }

  async #recentUsage(): Promise<UsageSum> {
    if (this.#usage === null || performance.now() - this.#usage.readAt >= usageTtlMs) {
      const readAt = performance.now();
      this.#usage = { sum: await this.#deps.usage.read(this.#account, this.#deps.now(), 'rough'), readAt };
    }
    return this.#usage.sum;
  }

  #exactUsage(): Promise<UsageSum> {
    return this.#deps.usage.read(this.#account, this.#deps.now(), 'exact');
  }
}

/** Refusals that depend on the usage ledger. */
const usageRefusals = ['quota', 'bytes', 'queued'] as const;

const isRefused = ({ verdicts }: Pick<Decision, 'verdicts'>, reasons: readonly AdmissionVerdict['refused'][]) =>
  verdicts.some(({ refused }) => refused !== null && reasons.includes(refused));

const hasReservations = ({ interactive, background }: Reserved) => interactive + background > 0;

/**
 * Returns the requests whose reservations a decision has added to a state, but whose names are removed from it. Names are kept only near a
 * limit, and only while some are free.
 */
function unnamed(
  requests: readonly AdmissionRequest[],
  before: AdmissionState,
  { state, isNear }: Decision,
): readonly AdmissionRequest[] {
  const isNew = ({ id }: AdmissionRequest) => id in state.holds && !(id in before.holds);
  const added = [...new Map(requests.filter(isNew).map((request) => [request.id, request])).values()];
  const free = isNear ? maxNamed - (Object.keys(state.holds).length - added.length) : 0;
  return added.slice(Math.max(0, free));
}
