import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';

/** What a slot does with a job. */
export interface Work {
  /** The slot is free again: what is left to be done needs no browser. Never rejects. */
  readonly rendered: Promise<void>;
  /** All of it is done. Never rejects. */
  readonly done: Promise<void>;
}

export interface SlotsOptions {
  readonly count: number;
  /** Takes a job to its end, whatever that is. */
  readonly run: (message: PulledMessage, signal: AbortSignal) => Work;
  /** Returns a job for which there is no slot. */
  readonly returnJob: (message: PulledMessage, reason: 'shutting_down' | 'no_free_slot') => Promise<void>;
  /** False while the browser is not up: then no slot counts as free, and what comes is returned. */
  readonly ready: () => boolean;
  /** A slot has become free. */
  readonly onFree: () => void;
  /** A job was taken. */
  readonly onTaken?: (message: PulledMessage) => void;
}

/** Jobs whose file is still being stored, for each slot: beyond that the slot waits, or pictures would fill the memory. */
const storedBehind = 2;

const readyIntervalMs = 100;

/** The slots of a renderer: each renders one job at a time, and takes the next one while the file of the last is being stored. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #running = new AbortController();
  readonly #watch: NodeJS.Timeout;
  readonly #works = new Set<Promise<void>>();
  readonly #held = new Set<PulledMessage>();
  #busy = 0;
  #wasReady: boolean;
  #isDraining = false;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#wasReady = options.ready();
    this.#watch = setInterval(() => {
      const isReady = options.ready();
      if (isReady && !this.#wasReady) options.onFree();
      this.#wasReady = isReady;
    }, readyIntervalMs);
  }

  get busy(): number {
    return this.#busy;
  }

  get draining(): boolean {
    return this.#isDraining;
  }

  /** Jobs that are not acknowledged yet. */
  get held(): readonly PulledMessage[] {
    return [...this.#held];
  }

  /** Slots that wait for a job. */
  get free(): number {
    const { count, ready } = this.#options;
    if (this.#isDraining || !ready()) return 0;
    return Math.max(0, Math.min(count - this.#busy, (1 + storedBehind) * count - this.#works.size));
  }

  take(message: PulledMessage): void {
    const { run, returnJob, count, onFree, onTaken, ready } = this.#options;
    if (this.#isDraining || this.#busy >= count || !ready()) {
      // What was requested is used up: it is asked for again as soon as it is ready, however soon that is.
      if (!ready()) this.#wasReady = false;
      this.#track(returnJob(message, this.#isDraining ? 'shutting_down' : 'no_free_slot'));
      return;
    }
    this.#busy++;
    this.#held.add(message);
    onTaken?.(message);
    const { rendered, done } = run(message, this.#running.signal);
    void rendered.then(() => {
      this.#busy--;
      onFree();
    });
    this.#track(
      done.then(() => {
        this.#held.delete(message);
        onFree();
      }),
    );
  }

  /** Takes no more, lets what runs end within `graceMs`, then aborts it: aborted jobs are returned. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    clearInterval(this.#watch);
    const timer = setTimeout(() => this.#running.abort(new Error('the renderer is stopping')), graceMs);
    while (this.#works.size > 0) await Promise.all(this.#works);
    clearTimeout(timer);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#works.delete(tracked));
    this.#works.add(tracked);
  }
}
