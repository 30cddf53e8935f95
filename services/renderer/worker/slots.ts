import type { PulledMessage } from '@webcapture/shared/nats/pull-inbox.ts';

/** The work of a slot on a job. */
export interface Work {
  /** Resolves when the slot is free, because the remaining steps need no browser. Never rejects. */
  readonly rendered: Promise<void>;
  /** Resolves when the job is complete. Never rejects. */
  readonly done: Promise<void>;
}

export interface SlotsOptions {
  readonly count: number;
  /** Processes a job to its end, successful or not. */
  readonly run: (message: PulledMessage, signal: AbortSignal) => Work;
  /** Returns a job for which no slot is free. */
  readonly returnJob: (message: PulledMessage, reason: 'shutting_down' | 'no_free_slot') => Promise<void>;
  /** False while no browser is ready. In this case, no slot counts as free, and jobs that arrive are returned. */
  readonly ready: () => boolean;
  /** Called when a slot becomes free. */
  readonly onFree: () => void;
  /** Called when a job was taken. */
  readonly onTaken?: (message: PulledMessage) => void;
}

/**
 * Maximum number of jobs per slot whose file is still being stored. A slot with more of them waits, because pictures would fill the memory.
 */
const storedBehind = 2;

const readyIntervalMs = 100;

/** The slots of a renderer. Each slot renders one job at a time, and takes the next job while the file of the last one is stored. */
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

  /** Jobs that have not been acknowledged. */
  get held(): readonly PulledMessage[] {
    return [...this.#held];
  }

  /** Number of slots that wait for a job. */
  get free(): number {
    const { count, ready } = this.#options;
    if (this.#isDraining || !ready()) return 0;
    return Math.max(0, Math.min(count - this.#busy, (1 + storedBehind) * count - this.#works.size));
  }

  take(message: PulledMessage): void {
    const { run, returnJob, count, onFree, onTaken, ready } = this.#options;
    if (this.#isDraining || this.#busy >= count || !ready()) {
      // The job has used up the pull request. Jobs are requested again when the browser is ready, even if that is before the next check.
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

  /** Takes no more jobs, waits up to `graceMs` for running jobs, and then aborts them. Aborted jobs are returned. */
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
