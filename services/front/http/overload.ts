/** Milliseconds, on average over a sample, by which the process is late with everything. */
const maxLatenessMs = 1000;

/** One bad sample is a start, a pause of the machine, or a single large body; so many in a row are too much work. */
const samplesInARow = 5;

/** Decides from samples of the event loop's lateness whether the process takes on more than it can do. */
export class Overload {
  #inARow = 0;

  sample(latenessMs: number): void {
    this.#inARow = latenessMs > maxLatenessMs ? this.#inARow + 1 : 0;
  }

  get present(): boolean {
    return this.#inARow >= samplesInARow;
  }
}
