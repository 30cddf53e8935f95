import type { AdmissionRequest } from './limits.ts';

type Reservation = Pick<AdmissionRequest, 'tokens' | 'priority' | 'until' | 'adds'> & { readonly isNamed: boolean };

/** Captures, tokens and bytes of queued HTML of reservations that are counted and not named. */
export type Counts = readonly [interactive: number, background: number, tokens: number, queuedBytes: number];

/** What this process has reserved for one account: the detail of what the account's value only counts. */
export class OwnReservations {
  readonly #byId = new Map<string, Reservation>();
  readonly #released = new Set<string>();
  readonly #counted = { interactive: 0, background: 0, tokens: 0, queuedBytes: 0 };
  /** No reservation lapses before this, Unix ms. */
  #lapsesAt = Infinity;
  #version = 0;
  #isWritten = true;

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  /** Whether the stored value matches, as far as is known. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Changes with each change of what the value should say. */
  get version(): number {
    return this.#version;
  }

  get counts(): Counts {
    return this.countsWith([]);
  }

  /** With requests that are about to be counted. */
  countsWith(requests: readonly AdmissionRequest[]): Counts {
    const sum = { ...this.#counted };
    for (const { priority, tokens, adds } of requests) {
      sum[priority]++;
      sum.tokens += tokens;
      sum.queuedBytes += adds?.queuedBytes ?? 0;
    }
    return [sum.interactive, sum.background, sum.tokens, sum.queuedBytes];
  }

  /** Names that were released and perhaps stand in the value still. */
  get released(): ReadonlySet<string> {
    return this.#released;
  }

  /** Takes in what the value says already. */
  add({ id, tokens, priority, until, adds }: AdmissionRequest, isNamed: boolean): void {
    if (this.#byId.has(id)) return;
    const reservation = { tokens, priority, until, adds, isNamed };
    this.#byId.set(id, reservation);
    this.#lapsesAt = Math.min(this.#lapsesAt, until);
    if (!isNamed) this.#count(reservation, 1);
  }

  /** False when there is no such reservation here. */
  release(id: string): boolean {
    const reservation = this.#byId.get(id);
    if (reservation === undefined) return false;
    this.#byId.delete(id);
    if (reservation.isNamed) this.#released.add(id);
    else this.#count(reservation, -1);
    this.#version++;
    this.#isWritten = false;
    return true;
  }

  /** Forgets what was never released in time. Looks at all of them only when one may have lapsed. */
  lapse(now: number): void {
    if (now < this.#lapsesAt) return;
    this.#lapsesAt = Infinity;
    for (const [id, { until }] of this.#byId) {
      if (until <= now) this.release(id);
      else this.#lapsesAt = Math.min(this.#lapsesAt, until);
    }
  }

  /** Marks the value as written in the state of `version`, without the names released until then. */
  written(version: number, released: Iterable<string>): void {
    for (const id of released) this.#released.delete(id);
    this.#isWritten = this.#version === version;
  }

  /** What the value says is not known: it is to be written again. */
  doubt(): void {
    this.#isWritten = false;
  }

  #count({ priority, tokens, adds }: Reservation, sign: 1 | -1): void {
    this.#counted[priority] += sign;
    this.#counted.tokens += sign * tokens;
    this.#counted.queuedBytes += sign * (adds?.queuedBytes ?? 0);
  }
}
