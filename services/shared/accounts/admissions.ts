import { randomBytes } from 'node:crypto';
import { isTransient, isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';
import { delay } from '../runtime/deadline.ts';
import {
  admit,
  freshAdmissionState,
  inFlightOf,
  isNearCap,
  isNearLimit,
  maxNamed,
  release,
  type AccountLimits,
  type AdmissionRequest,
  type AdmissionState,
  type AdmissionVerdict,
  type UsageSum,
} from './admission.ts';
import type { Precision } from './account-usage.ts';
import { OwnReservations, type Counts } from './own-reservations.ts';

export interface AdmissionsDeps {
  /** The account's usage of the month of `now`: quickly, or as the leader knows it. */
  readonly readUsage: (account: string, now: number, precision: Precision) => Promise<UsageSum>;
  /** Which of these reservations stand for what the ledger has already. */
  readonly bookedOf: (account: string, holds: readonly string[]) => Promise<readonly string[]>;
  /** The server's clock, Unix ms. */
  readonly now?: () => number;
}

interface Admit {
  readonly limits: AccountLimits;
  readonly request: AdmissionRequest;
  readonly resolve: (verdict: AdmissionVerdict) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes what has changed, and that the reservation of the id has ended, if there is one. */
interface Write {
  readonly id?: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type Operation = Admit | Write;

const attempts = 100;

/** How long a rough reading of the ledger serves; `isNearLimit` leaves room for what may be booked meanwhile. */
const recentMs = 250;

/**
 * What was written last is built upon without reading it again while nobody else seems to write: for so long. Who met
 * another writer reads first for as long; between fronts that take turns, guesses cost more than they save.
 */
const soleWriterMs = 1000;

/** Far from every limit a release waits for so long for an admission that takes it along: one write less. */
const releaseDelayMs = 250;

/** For how long an account that was far from its limits is taken to be so still; they are at least a minute away. */
const farMs = 10_000;

/** Reservations that are only counted lapse so long after the front that made them has last written them. */
const leaseMs = 30_000;

/** How often they are written again, and accounts that have fallen quiet forgotten. */
const renewMs = 10_000;

/** After which what could not be written is tried again. */
const retryMs = 1000;

/** What this process knows of one account; gone when there is nothing to know. */
class AccountWork {
  readonly own = new OwnReservations();
  waiting: Operation[] = [];
  isServed = false;
  usage: { readonly sum: UsageSum; readonly readAt: number } | null = null;
  /** Null: another writer was met, or a write was not answered. */
  entry: Entry<AdmissionState> | null = null;
  entryAt = -Infinity;
  /** How far the clock of the account is ahead of this process's. */
  aheadMs = 0;
  /** Until then (by the process's own clock) the account is taken to be far from all limits. */
  farUntil = -Infinity;
  flush: NodeJS.Timeout | undefined;
  usedAt = performance.now();
  write = 0;
  /** What writes that were not answered have admitted, if they took place. */
  unconfirmed: { readonly write: number; readonly named: AdmissionRequest[]; readonly counted: AdmissionRequest[] }[] =
    [];
}

/**
 * Rate limit, cap in flight and quota of all accounts: one value per account in the live bucket, changed by
 * compare-and-set. What comes in while a change is under way goes along with the next one, so that a busy account
 * costs a round trip for many requests. The value names reservations near a limit only, and few; others each front
 * counts under a lease, so that neither the value nor a change of it grows with what is in flight. Throws when NATS does
 * not answer: without it nothing is admitted.
 */
export class Admissions {
  readonly #session: NatsSession;
  readonly #live: Entries;
  readonly #deps: AdmissionsDeps;
  readonly #now: () => number;
  /** Names this process in the values. */
  readonly #front = randomBytes(6).toString('base64url');
  readonly #works = new Map<string, AccountWork>();
  #renewing: NodeJS.Timeout | undefined;

  constructor(session: NatsSession, deps: AdmissionsDeps) {
    this.#session = session;
    this.#live = new Entries(session, 'live');
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  admit(account: string, limits: AccountLimits, request: AdmissionRequest): Promise<AdmissionVerdict> {
    return new Promise((resolve, reject) => this.#add(account, { limits, request, resolve, reject }));
  }

  /**
   * Ends a reservation: near a limit when it resolves, far from all of them within a moment. One that is never released
   * lapses.
   */
  release(account: string, id: string): Promise<void> {
    const work = this.#works.get(account);
    if (work !== undefined && performance.now() < work.farUntil && work.own.release(id)) {
      this.#flushLater(account, work, releaseDelayMs);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => this.#add(account, { id, resolve, reject }));
  }

  /** Captures of the account that clients wait for, over all fronts. */
  async inFlight(account: string): Promise<number> {
    const found = await this.#live.get<AdmissionState>(`limit.${account}`);
    const state = found?.value ?? freshAdmissionState;
    return inFlightOf(state, Math.max(this.#now(), state.at ?? 0));
  }

  /** Writes down the releases that wait to be: before the process ends. Never throws. */
  async flush(): Promise<void> {
    const unwritten = [...this.#works].filter(([, { own }]) => !own.isWritten);
    await Promise.allSettled(unwritten.map(([account]) => this.#write(account)));
  }

  #add(account: string, operation: Operation): void {
    const work = this.#works.get(account) ?? new AccountWork();
    this.#works.set(account, work);
    this.#renewing ??= setInterval(() => this.#renew(), renewMs).unref();
    work.usedAt = performance.now();
    work.waiting.push(operation);
    if (!work.isServed) void this.#serve(account, work);
  }

  #write(account: string): Promise<void> {
    return new Promise((resolve, reject) => this.#add(account, { resolve, reject }));
  }

  /** Has what is not written yet go along with an admission, or be written alone when none comes. */
  #flushLater(account: string, work: AccountWork, afterMs: number): void {
    work.flush ??= setTimeout(() => {
      work.flush = undefined;
      // A failure has it tried again later.
      if (!work.own.isWritten && !this.#session.nc.isClosed()) this.#write(account).catch(() => undefined);
    }, afterMs).unref();
  }

  #renew(): void {
    const isClosed = this.#session.nc.isClosed();
    for (const [account, work] of this.#works) {
      const { own } = work;
      own.lapse(this.#now());
      const isQuiet = own.isEmpty && own.isWritten && !work.isServed;
      if (isClosed || (isQuiet && performance.now() - work.usedAt > renewMs)) this.#works.delete(account);
      else if (!own.isWritten || own.counts.some((count) => count > 0)) this.#write(account).catch(() => undefined);
    }
    if (this.#works.size > 0) return;
    clearInterval(this.#renewing);
    this.#renewing = undefined;
  }

  async #serve(account: string, work: AccountWork): Promise<void> {
    work.isServed = true;
    while (work.waiting.length > 0) {
      const operations = work.waiting;
      work.waiting = [];
      try {
        await this.#apply(account, work, operations);
      } catch (error) {
        for (const { reject } of operations) reject(error);
        if (!work.own.isWritten) this.#flushLater(account, work, retryMs);
      }
    }
    work.isServed = false;
  }

  async #apply(account: string, work: AccountWork, operations: readonly Operation[]): Promise<void> {
    const admits = operations.filter((operation) => 'request' in operation);
    const writes = operations.filter((operation): operation is Write => !('request' in operation));
    const released = writes.flatMap(({ id }) => id ?? []);
    for (let attempt = 1; ; attempt++) {
      try {
        const verdicts = await this.#change(account, work, admits, released);
        writes.forEach(({ resolve }) => resolve());
        admits.forEach(({ resolve, reject }, index) => {
          const verdict = verdicts[index];
          if (verdict === undefined) reject(new RangeError('a verdict is missing'));
          else resolve(verdict);
        });
        return;
      } catch (error) {
        this.#remember(work, null);
        if (!isWriteConflict(error) || isTransient(error) || attempt >= attempts) throw error;
        await delay(Math.random() * Math.min(attempt, 20));
      }
    }
  }

  /** Decides and writes once. Throws a write conflict when another front wrote meanwhile: then nothing has changed. */
  async #change(
    account: string,
    work: AccountWork,
    admits: readonly Admit[],
    released: readonly string[],
    mayGuess = true,
  ): Promise<AdmissionVerdict[]> {
    const { own } = work;
    const key = `limit.${account}`;
    // What was reserved by another process, or by a write without an answer, only the value can tell.
    const isKnown = released.every((id) => own.has(id) || own.released.has(id));
    const guess = mayGuess && isKnown ? this.#sole(work) : null;
    const found = guess ?? (await this.#live.get<AdmissionState>(key));
    const before = found?.value ?? freshAdmissionState;
    if (guess === null) this.#confirm(work, before);
    const now = this.#accountClock(work, before);
    own.lapse(this.#now());
    for (const id of released) own.release(id);

    let state = this.#withOwn(work, release(before, [...own.released, ...released]), own.counts, now);
    let verdicts: AdmissionVerdict[] = [];
    const named: AdmissionRequest[] = [];
    const counted: AdmissionRequest[] = [];
    const limits = admits.at(-1)?.limits;
    if (limits !== undefined) {
      const requests = admits.map(({ request }) => ({ ...request, until: request.until + work.aheadMs }));
      const decision = await this.#decide(account, work, state, limits, requests);
      ({ verdicts } = decision);
      // Another front may have released, or sorted out, what a guess counts still.
      if (guess !== null && verdicts.some(({ refused }) => refused !== null)) {
        return this.#change(account, work, admits, released, false);
      }
      // Who gave up waiting for its admission releases along with it what it was about to get.
      state = release(decision.state, released);
      const fresh = new Map(admits.map(({ request }) => [request.id, request]));
      for (const id of fresh.keys()) if (id in before.holds || !(id in state.holds)) fresh.delete(id);
      let room = maxNamed - (Object.keys(state.holds).length - fresh.size);
      for (const request of fresh.values()) {
        if (decision.isNear && room-- > 0) named.push(request);
        else counted.push(request);
      }
      state = release(
        state,
        counted.map(({ id }) => id),
      );
    }

    const { version } = own;
    const names = [...own.released];
    state = this.#withOwn(work, release(state, names), sumOf(own.counts, counted), now);
    if (!this.#differs(before, state, now)) {
      own.written(version, names);
      return verdicts;
    }
    await this.#put(work, key, found, state, { named, counted });
    own.written(version, names);
    for (const request of named) own.add(request, true);
    for (const request of counted) own.add(request, false);
    return verdicts;
  }

  async #put(
    work: AccountWork,
    key: string,
    found: Entry<AdmissionState> | null,
    state: AdmissionState,
    admitted: { readonly named: AdmissionRequest[]; readonly counted: AdmissionRequest[] },
  ): Promise<void> {
    const now = state.at ?? 0;
    const untils = [
      ...Object.values(state.holds).map(([, until]) => until),
      ...Object.values(state.fronts ?? {}).map(([, , , expires]) => expires),
    ];
    const lastsMs = untils.reduce((last, until) => Math.max(last, until), state.tat) - now;
    const ttlSeconds = Math.ceil(Math.max(0, lastsMs) / 1000) + 60;
    try {
      const revision =
        found === null
          ? await this.#live.create(key, state, { ttlSeconds })
          : await this.#live.update(key, state, found.revision, { ttlSeconds });
      work.unconfirmed = [];
      if (!this.#metAnother(work)) this.#remember(work, { value: state, revision });
    } catch (error) {
      if (!isWriteConflict(error)) {
        work.unconfirmed.push({ write: work.write, ...admitted });
        work.own.doubt();
      }
      throw error;
    }
  }

  /** Takes in what a write that was not answered has admitted, if the value shows that it took place. */
  #confirm(work: AccountWork, state: AdmissionState): void {
    const written = state.fronts?.[this.#front]?.[4];
    const landed = work.unconfirmed.find(({ write }) => write === written);
    if (landed === undefined) return;
    for (const request of landed.counted) work.own.add(request, false);
    for (const request of landed.named) work.own.add(request, true);
    work.unconfirmed = work.unconfirmed.filter(({ write }) => write > landed.write);
  }

  /**
   * The clock of the account: that of this process, or so much ahead of it as the furthest of any front was when it
   * wrote. It runs everywhere and never back, so that fronts whose clocks differ share one rate: none starves, and none
   * is let through twice.
   */
  #accountClock(work: AccountWork, { at = 0 }: AdmissionState): number {
    const now = this.#now();
    work.aheadMs = Math.max(work.aheadMs, at === 0 ? 0 : at - now);
    return now + work.aheadMs;
  }

  /** The state with this process's part of it as it should be. */
  #withOwn(work: AccountWork, state: AdmissionState, counts: Counts, now: number): AdmissionState {
    const fronts = { ...state.fronts };
    if (counts.some((count) => count > 0)) fronts[this.#front] = [...counts, now + leaseMs, ++work.write];
    else delete fronts[this.#front];
    return { at: now, tat: state.tat, holds: state.holds, fronts };
  }

  /** Whether there is anything to write: what was refused, or released before, changes nothing. */
  #differs(before: AdmissionState, after: AdmissionState, now: number): boolean {
    if (before.tat !== after.tat || JSON.stringify(before.holds) !== JSON.stringify(after.holds)) return true;
    const [was, is] = [before.fronts?.[this.#front], after.fronts?.[this.#front]];
    if (was === undefined || is === undefined) return was !== is;
    const isOld = was[3] - now <= leaseMs - renewMs / 2;
    return isOld || [0, 1, 2].some((index) => was[index] !== is[index]);
  }

  /** The entry as this front wrote it last, if that is likely to stand. */
  #sole({ entry, entryAt }: AccountWork): Entry<AdmissionState> | null {
    return performance.now() - entryAt < soleWriterMs ? entry : null;
  }

  #metAnother({ entry, entryAt }: AccountWork): boolean {
    return entry === null && performance.now() - entryAt < soleWriterMs;
  }

  #remember(work: AccountWork, entry: Entry<AdmissionState> | null): void {
    work.entry = entry;
    work.entryAt = performance.now();
  }

  /**
   * The usage is read after the reservations, so that a capture that ends meanwhile is counted twice rather than not at
   * all. Before a request is refused for want of quota or room, those by name which the ledger has are sorted out: what
   * is counted twice, and what a front that has died has left.
   */
  async #decide(
    account: string,
    work: AccountWork,
    state: AdmissionState,
    limits: AccountLimits,
    requests: readonly AdmissionRequest[],
  ) {
    const now = state.at ?? 0;
    const usage = await this.#usage(account, work, state, limits, requests);
    const decision = admit(state, limits, usage, requests, now, work.own);
    const isNear = isNearLimit(state, limits, usage, requests) || isNearCap(decision.state, limits, usage);
    work.farUntil = isNear ? -Infinity : performance.now() + farMs;
    const isSettled = decision.verdicts.every(({ refused }) => refused === null || refused === 'rate');
    const booked = isSettled ? [] : await this.#deps.bookedOf(account, Object.keys(state.holds));
    if (booked.length === 0) return { ...decision, isNear };
    const settled = await this.#usage(account, work, state, limits, requests);
    return { ...admit(release(state, booked), limits, settled, requests, now, work.own), isNear };
  }

  async #usage(
    account: string,
    work: AccountWork,
    state: AdmissionState,
    limits: AccountLimits,
    requests: readonly AdmissionRequest[],
  ): Promise<UsageSum> {
    const rough = await this.#rough(account, work);
    if (!isNearLimit(state, limits, rough, requests)) return rough;
    return this.#deps.readUsage(account, this.#now(), 'exact');
  }

  /** The ledger as it was a moment ago: who is far from every limit cannot reach one meanwhile. */
  async #rough(account: string, work: AccountWork): Promise<UsageSum> {
    if (work.usage !== null && performance.now() - work.usage.readAt < recentMs) return work.usage.sum;
    const readAt = performance.now();
    const sum = await this.#deps.readUsage(account, this.#now(), 'rough');
    work.usage = { sum, readAt };
    return sum;
  }
}

function sumOf([interactive, background, tokens]: Counts, requests: readonly AdmissionRequest[]): Counts {
  const inBackground = requests.filter(({ lane }) => lane === 'background').length;
  return [
    interactive + requests.length - inBackground,
    background + inBackground,
    requests.reduce((sum, request) => sum + request.tokens, tokens),
  ];
}
