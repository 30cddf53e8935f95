import { DeadlineError, onAbort, untilAborted, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { type FailureCause, ServiceError } from '@webcapture/shared/runtime/errors.ts';

/** Time limit of a command to the browser, or of a call in the page. */
export const callTimeoutMs = 5000;
/** Time limit of a call whose timeout fails the capture. A call that takes a second on an idle machine may take this long on a busy one. */
export const lastCallTimeoutMs = 15_000;

/**
 * The deadline of a capture, and the events that end the capture early (it is cancelled, its page crashes, its browser is lost). Every
 * await of a capture that depends on something external must use {@link CaptureDeadline.run}.
 */
export class CaptureDeadline {
  readonly #end: number;
  readonly #timeoutMs: number;
  readonly #aborted = new AbortController();
  readonly #release: () => void;
  /** The cause that a timeout is attributed to. It is `service` until the navigation begins. */
  causedBy: FailureCause = 'service';
  /** Called at the end of each wait that has a timeout of its own. `startedAt` is a `performance.now()` value. */
  onWait?: (what: string, startedAt: number, timedOut: boolean) => void;

  /** @param signal aborts when the capture is cancelled */
  constructor(timeoutMs: number, signal: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#end = performance.now() + timeoutMs;
    // The listener is removed at the end, because the signal may outlive many captures.
    this.#release = onAbort(signal, () =>
      this.abort(
        new ServiceError('CAPTURE_FAILED', 'The capture was cancelled.', { causedBy: 'client', cause: signal.reason }),
      ),
    );
  }

  /** Milliseconds until the deadline, at least 0. */
  get remainingMs(): number {
    return Math.max(0, this.#end - performance.now());
  }

  /** Stops listening to the signal. Call it when the capture is over. */
  release(): void {
    this.#release();
  }

  /** Ends the capture: its current wait rejects with this error. Only the first call has an effect. */
  abort(error: ServiceError): void {
    this.#aborted.abort(error);
  }

  /**
   * Returns the result of the work.
   *
   * @throws DeadlineError after `timeoutMs`
   * @throws ServiceError CAPTURE_TIMEOUT if the deadline of the capture comes first, or the reason of an abort
   */
  async run<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
    const { remainingMs } = this;
    const startedAt = performance.now();
    let timedOut = false;
    const isLast = remainingMs <= timeoutMs;
    const aborting = untilAborted(work, this.#aborted.signal);
    // The timeout may come from a step inside the work, and not from the capture's deadline.
    let isDone = false;
    const noted = aborting.finally(() => (isDone = true));
    try {
      return await withDeadline(noted, Math.min(timeoutMs, remainingMs), what);
    } catch (error) {
      timedOut = error instanceof DeadlineError;
      if (error instanceof DeadlineError && isLast && !isDone) throw this.#timedOut(error);
      throw error;
    } finally {
      if (Number.isFinite(timeoutMs)) this.onWait?.(what, startedAt, timedOut);
    }
  }

  #timedOut(cause: unknown): ServiceError {
    const seconds = Math.round(this.#timeoutMs / 1000);
    return new ServiceError('CAPTURE_TIMEOUT', `The capture timed out after ${seconds} s.`, {
      causedBy: this.causedBy,
      cause,
    });
  }
}
