import { type AdmissionRequest, nothingReserved, type Reserved, withReservation } from './limits.ts';

/** The reservations of this process for one account that the account's value only counts. */
export class OwnReservations {
  readonly #byId = new Map<string, AdmissionRequest>();
  #sums = nothingReserved;
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

  /** Whether the stored value is up to date, as far as this process knows. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** The version of the reservations. It changes with each change that must be written. */
  get version(): number {
    return this.#version;
  }

  get sums(): Reserved {
    return this.#sums;
  }

  /** Adds a reservation that the value already contains. */
  add(request: AdmissionRequest): void {
    if (this.#byId.has(request.id)) return;
    this.#byId.set(request.id, request);
    this.#lapsesAt = Math.min(this.#lapsesAt, request.until);
    this.#sums = withReservation(this.#sums, request);
  }

  /** Ends a reservation. Returns false if this process does not have it. */
  release(id: string): boolean {
    const reservation = this.#byId.get(id);
    if (reservation === undefined) return false;
    this.#byId.delete(id);
    this.#sums = withReservation(this.#sums, reservation, -1);
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

  /** Marks the state of `version` as written. */
  written(version: number): void {
    this.#isWritten = this.#version === version;
  }

  /** Records that the stored value is unknown, so that it is written again. */
  doubt(): void {
    this.#isWritten = false;
  }
}
