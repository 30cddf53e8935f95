import { isTransient, isWriteConflict } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { Entries, type Entry } from '../nats/entries.ts';
import { delay } from '../lifecycle/delay.ts';
import {
  admit,
  freshAdmissionState,
  inFlightOf,
  isNearLimit,
  release,
  type AccountLimits,
  type AdmissionRequest,
  type AdmissionState,
  type AdmissionVerdict,
  type UsageSum,
} from './admission.ts';
import type { Precision } from './account-usage.ts';

export interface AdmissionsDeps {
  /** The account's usage of the month of `now`: quickly, or as the leader knows it. */
  readonly readUsage: (account: string, now: number, precision: Precision) => Promise<UsageSum>;
  /** Which of these holds stand for what the books have already. */
  readonly bookedOf: (account: string, holds: readonly string[]) => Promise<readonly string[]>;
  readonly now?: () => number;
}

interface Admit {
  readonly limits: AccountLimits;
  readonly request: AdmissionRequest;
  readonly resolve: (verdict: AdmissionVerdict) => void;
  readonly reject: (error: unknown) => void;
}

interface Release {
  readonly id: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type Operation = Admit | Release;

const attempts = 100;

/** How long a rough reading of the books serves; `isNearLimit` leaves room for what may be booked meanwhile. */
const recentMs = 250;

const mostRecent = 10_000;

/**
 * What was written last is built upon without reading it again while nobody else seems to write: for so long. Who met
 * another writer reads first for as long; between fronts that take turns, guesses cost more than they save.
 */
const soleWriterMs = 1000;

/**
 * Rate limit, cap in flight and quota of all accounts: one value per account in the live bucket, changed by
 * compare-and-set. What comes in while a change is under way goes along with the next one, so that a busy account
 * costs a round trip for many requests. Throws when NATS does not answer: without it nothing is admitted.
 */
export class Admissions {
  readonly #live: Entries;
  readonly #deps: AdmissionsDeps;
  readonly #now: () => number;
  readonly #waiting = new Map<string, Operation[]>();
  readonly #recent = new Map<string, { readonly usage: UsageSum; readonly readAt: number }>();
  /** Null: another writer was met, or a write was not answered. */
  readonly #written = new Map<string, { readonly entry: Entry<AdmissionState> | null; readonly at: number }>();

  constructor(session: NatsSession, deps: AdmissionsDeps) {
    this.#live = new Entries(session, 'live');
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  admit(account: string, limits: AccountLimits, request: AdmissionRequest): Promise<AdmissionVerdict> {
    return new Promise((resolve, reject) => this.#add(account, { limits, request, resolve, reject }));
  }

  /** Gives a place back. One that is never given back lapses. */
  release(account: string, id: string): Promise<void> {
    return new Promise((resolve, reject) => this.#add(account, { id, resolve, reject }));
  }

  /** Captures of the account that clients wait for, over all fronts. */
  async inFlight(account: string): Promise<number> {
    const found = await this.#live.get<AdmissionState>(`limit.${account}`);
    return inFlightOf(found?.value ?? freshAdmissionState, this.#now());
  }

  #add(account: string, operation: Operation): void {
    const waiting = this.#waiting.get(account);
    if (waiting !== undefined) {
      waiting.push(operation);
      return;
    }
    this.#waiting.set(account, [operation]);
    void this.#serve(account);
  }

  async #serve(account: string): Promise<void> {
    for (;;) {
      const operations = this.#waiting.get(account) ?? [];
      if (operations.length === 0) {
        this.#waiting.delete(account);
        return;
      }
      this.#waiting.set(account, []);
      try {
        await this.#apply(account, operations);
      } catch (error) {
        for (const { reject } of operations) reject(error);
      }
    }
  }

  async #apply(account: string, operations: readonly Operation[]): Promise<void> {
    const admits = operations.filter((operation) => 'request' in operation);
    const releases = operations.filter((operation) => 'id' in operation);
    for (let attempt = 1; ; attempt++) {
      try {
        const verdicts = await this.#change(account, admits, releases);
        releases.forEach(({ resolve }) => resolve());
        admits.forEach(({ resolve, reject }, index) => {
          const verdict = verdicts[index];
          if (verdict === undefined) reject(new RangeError('a verdict is missing'));
          else resolve(verdict);
        });
        return;
      } catch (error) {
        this.#remember(account, null);
        if (!isWriteConflict(error) || isTransient(error) || attempt >= attempts) throw error;
        await delay(Math.random() * Math.min(attempt, 20));
      }
    }
  }

  async #change(account: string, admits: readonly Admit[], releases: readonly Release[]): Promise<AdmissionVerdict[]> {
    const key = `limit.${account}`;
    const found = this.#sole(account) ?? (await this.#live.get<AdmissionState>(key));
    const released = releases.map(({ id }) => id);
    let state = release(found?.value ?? freshAdmissionState, released);
    let verdicts: AdmissionVerdict[] = [];
    const limits = admits.at(-1)?.limits;
    if (limits !== undefined) {
      ({ state, verdicts } = await this.#decide(account, state, limits, admits));
      // Who gave up waiting for its admission gives back along with it what it was about to get.
      state = release(state, released);
    }
    const now = this.#now();
    const lasts = Math.max(state.tat, ...Object.values(state.holds).map(([, until]) => until)) - now;
    const ttlSeconds = Math.ceil(Math.max(0, lasts) / 1000) + 60;
    const revision =
      found === null
        ? await this.#live.create(key, state, { ttlSeconds })
        : await this.#live.update(key, state, found.revision, { ttlSeconds });
    if (!this.#metAnother(account)) this.#remember(account, { value: state, revision });
    return verdicts;
  }

  /** The entry as this front wrote it last, if that is likely to stand. */
  #sole(account: string): Entry<AdmissionState> | null {
    const written = this.#written.get(account);
    return written !== undefined && performance.now() - written.at < soleWriterMs ? written.entry : null;
  }

  #metAnother(account: string): boolean {
    const written = this.#written.get(account);
    return written?.entry === null && performance.now() - written.at < soleWriterMs;
  }

  #remember(account: string, entry: Entry<AdmissionState> | null): void {
    if (this.#written.size >= mostRecent) this.#written.clear();
    this.#written.set(account, { entry, at: performance.now() });
  }

  /**
   * The usage is read after the holds, so that a capture that ends meanwhile is counted twice rather than not at all.
   * Before a request is refused for want of quota or room, the holds of what the books have are sorted out: those counted
   * twice, and those of a front that has died.
   */
  async #decide(account: string, state: AdmissionState, limits: AccountLimits, admits: readonly Admit[]) {
    const requests = admits.map(({ request }) => request);
    const usage = await this.#usage(account, state, limits, requests);
    const decision = admit(state, limits, usage, requests, this.#now());
    if (decision.verdicts.every(({ refused }) => refused === null || refused === 'rate')) return decision;
    const booked = await this.#deps.bookedOf(account, Object.keys(state.holds));
    if (booked.length === 0) return decision;
    const settled = await this.#usage(account, state, limits, requests);
    return admit(release(state, booked), limits, settled, requests, this.#now());
  }

  async #usage(
    account: string,
    state: AdmissionState,
    limits: AccountLimits,
    requests: readonly AdmissionRequest[],
  ): Promise<UsageSum> {
    const rough = await this.#rough(account);
    if (!isNearLimit(state, limits, rough, requests)) return rough;
    return this.#deps.readUsage(account, this.#now(), 'exact');
  }

  /** The books as they were a moment ago: who is far from every limit cannot reach one meanwhile. */
  async #rough(account: string): Promise<UsageSum> {
    const known = this.#recent.get(account);
    if (known !== undefined && performance.now() - known.readAt < recentMs) return known.usage;
    const readAt = performance.now();
    const usage = await this.#deps.readUsage(account, this.#now(), 'rough');
    if (this.#recent.size >= mostRecent) this.#recent.clear();
    this.#recent.set(account, { usage, readAt });
    return usage;
  }
}
