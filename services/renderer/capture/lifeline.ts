import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { DeadlineError, withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';

/**
 * What a capture lives by: its deadline, and the events that end it at once (cancelled, page crashed, browser gone).
 * Every await of a capture that depends on the outside goes through {@link Lifeline.run}.
 */
export class Lifeline {
  readonly #end: number;
  readonly #deadlineMs: number;
  readonly #cut: Promise<never>;
  readonly #release: () => void;
  #reject: (error: ServiceError) => void = () => undefined;

  /** @param deadlineMs from now */
  constructor(deadlineMs: number, signal: AbortSignal) {
    this.#deadlineMs = deadlineMs;
    this.#end = performance.now() + deadlineMs;
    this.#cut = new Promise((_, reject) => (this.#reject = reject));
    // It may be cut while nothing waits on it.
    this.#cut.catch(() => undefined);
    const abort = () =>
      this.cut(new ServiceError('CAPTURE_FAILED', 'The capture was cancelled.', { cause: signal.reason }));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    // The signal may outlive many captures.
    this.#release = () => signal.removeEventListener('abort', abort);
  }

  /** Milliseconds until the deadline; never less than 0. */
  get remainingMs(): number {
    return Math.max(0, this.#end - performance.now());
  }

  /** The capture is over. */
  release(): void {
    this.#release();
  }

  /** Ends the capture: whatever it waits for rejects with this. The first reason counts. */
  cut(error: ServiceError): void {
    this.#reject(error);
  }

  /**
   * The work's result.
   *
   * @throws DeadlineError after `ms`
   * @throws ServiceError CAPTURE_TIMEOUT when the deadline of the capture comes first, or whatever cuts it
   */
  async run<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
    const remaining = this.remainingMs;
    try {
      return await withDeadline(Promise.race([work, this.#cut]), Math.min(ms, remaining), what);
    } catch (error) {
      if (error instanceof DeadlineError && remaining <= ms) throw this.#late(error);
      throw error;
    }
  }

  #late(cause: unknown): ServiceError {
    const seconds = Math.round(this.#deadlineMs / 1000);
    return new ServiceError('CAPTURE_TIMEOUT', `The capture took longer than the ${seconds} s that it may.`, { cause });
  }
}
