import { type AdmissionRequest, nothingReserved, type Reserved, withReservation } from './limits.ts';

type Reservation = Omit<AdmissionRequest, 'id' | 'unrated'> & { readonly isNamed: boolean };

/** The reservations of this process for one account: the details of what the account's value only counts. */
export class OwnReservations {
  readonly #byId = new Map<string, Reservation>();
  readonly #released = new Set<string>();
  #counted = nothingReserved;
  /** Earliest expiry of a reservation, Unix milliseconds. */
  #lapsesAt = Infinity;
  #version = 0;
  #isWritten = true;

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  /** Whether the stored value is up to date, as far as is known. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Changes with each change that must be written. */
  get version(): number {
    return this.#version;
  }

  /** Sums of the reservations that the value does not name. */
  get counted(): Reserved {
    return this.#counted;
  }

  /** Released names that the stored value may still contain. */
  get released(): ReadonlySet<string> {
    return this.#released;
  }

  /** Adds a reservation that the value already contains. */
  add({ id, tokens, priority, until, adds }: AdmissionRequest, isNamed: boolean): void {
    if (this.#byId.has(id)) return;
    const reservation = { tokens, priority, until, adds, isNamed };
    this.#byId.set(id, reservation);
    this.#lapsesAt = Math.min(this.#lapsesAt, until);
    if (!isNamed) this.#counted = withReservation(this.#counted, reservation);
  }

  /** Returns false if there is no such reservation here. */
  release(id: string): boolean {
    const reservation = this.#byId.get(id);
    if (reservation === undefined) return false;
    this.#byId.delete(id);
    if (reservation.isNamed) this.#released.add(id);
    else this.#counted = withReservation(this.#counted, reservation, -1);
    this.#version++;
    this.#isWritten = false;
    return true;
  }

  /** Drops expired reservations. Checks them only if one may have expired. */
  lapse(now: number): void {
    if (now < this.#lapsesAt) return;
    this.#lapsesAt = Infinity;
    for (const [id, { until }] of this.#byId) {
      if (until <= now) this.release(id);
      else this.#lapsesAt = Math.min(this.#lapsesAt, until);
    }
  }

  /** Marks the state of `version` as written, without the released names. */
  written(version: number, released: Iterable<string>): void {
    for (const id of released) this.#released.delete(id);
    this.#isWritten = this.#version === version;
  }

  /** Marks the stored value as unknown, so that it is written again. */
  doubt(): void {
    this.#isWritten = false;
  }
}
