import { ConsumerMissingError } from '@webcapture/shared/nats/pull.ts';
import type { PulledMessage } from '@webcapture/shared/nats/pulled-message.ts';
import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

export interface SlotsOptions {
  readonly count: number;
  /** The next job, or null when there is none for now. Called only while a slot is free. */
  readonly next: () => Promise<PulledMessage | null>;
  /** Runs a job to its end, whatever that is; must not throw. */
  readonly run: (message: PulledMessage, signal: AbortSignal) => Promise<void>;
  /** False while the browser is not up: then nothing is pulled. */
  readonly ready: () => boolean;
  readonly log: Logger;
}

/** The slots of a renderer: each pulls a job when it is free, runs it, and pulls the next. */
export class Slots {
  readonly #options: SlotsOptions;
  readonly #pulling = new AbortController();
  readonly #running = new AbortController();
  readonly #loops: Promise<void>[];
  #busy = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#loops = Array.from({ length: options.count }, () => this.#serve());
  }

  get busy(): number {
    return this.#busy;
  }

  get draining(): boolean {
    return this.#pulling.signal.aborted;
  }

  /** Pulls no more, lets what runs end within `graceMs`, then aborts it: aborted jobs go back to the queue. */
  async drain(graceMs: number): Promise<void> {
    this.#pulling.abort();
    const timer = setTimeout(() => this.#running.abort(new Error('the renderer is stopping')), graceMs);
    await Promise.all(this.#loops);
    clearTimeout(timer);
  }

  async #serve(): Promise<void> {
    const { signal } = this.#pulling;
    for (let failures = 0; !signal.aborted;) {
      if (!this.#options.ready()) {
        await delay(100, signal);
        continue;
      }
      let message: PulledMessage | null;
      try {
        message = await this.#options.next();
        failures = 0;
      } catch (error) {
        failures++;
        if (failures === 1 || failures % 20 === 0) this.#reportPullFailure(error);
        await delay(backoffMs(failures, 50, 2000), signal);
        continue;
      }
      if (message === null) continue;
      if (signal.aborted) {
        // It came while the drain began: another renderer may have it at once.
        message.handBack(1);
        return;
      }
      this.#busy++;
      try {
        await this.#options.run(message, this.#running.signal);
      } finally {
        this.#busy--;
      }
    }
  }

  #reportPullFailure(error: unknown): void {
    const text = error instanceof ConsumerMissingError ? 'waiting for the queue to be set up' : 'cannot pull captures';
    this.#options.log.warn({ err: error }, text);
  }
}
