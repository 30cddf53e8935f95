import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import { isTransient, isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import type { AdmissionRequest, AdmissionVerdict } from '@webcapture/shared/state/admission.ts';
import type { Admissions } from '@webcapture/shared/state/admissions.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { isOpen } from '@webcapture/shared/state/transitions.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/** Limits that cannot be checked within this, by default, let nothing through. */
const checkMs = 3000;

/** An answer does not wait for longer than this until its place is free again. */
const leaveMs = 1000;

export interface GateDeps {
  readonly admissions: Pick<Admissions, 'admit' | 'release'>;
  readonly captures: Pick<Captures, 'get'>;
  readonly log: Logger;
  /** Ends what goes on in the background. */
  readonly signal: AbortSignal;
  /** The clock of the times in requests, Unix ms: the server's. */
  readonly now?: (() => number) | undefined;
  /** See {@link checkMs}. */
  readonly checkMs?: number | undefined;
}

/** Where captures are counted in and out. */
export class Gate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /**
   * Asks for a place; `request.id` is the uuid of the capture. What was admitted must be given back by `leave`.
   *
   * @throws ServiceError INTERNAL_ERROR, within a few seconds, when the limits cannot be checked
   */
  async enter(account: Account, request: AdmissionRequest): Promise<AdmissionVerdict> {
    const withinMs = this.#deps.checkMs ?? checkMs;
    const deadline = Date.now() + withinMs;
    const admitted = retryTransient(() => this.#deps.admissions.admit(account.id, account, request), { deadline });
    try {
      return await withDeadline(admitted, withinMs, 'checking the limits');
    } catch (cause) {
      // It may have been admitted, and only the answer got lost.
      this.#releaseInBackground(account.id, request);
      if (!isTransient(cause) && !isWriteConflict(cause)) throw cause;
      throw new ServiceError(
        'INTERNAL_ERROR',
        'The limits of the account cannot be checked right now. Send the request again in a few seconds.',
        { cause },
      );
    }
  }

  /**
   * Gives the place back, before the answer goes out: the client's next request finds it free. That of a capture which
   * goes on without its client is given back when it has ended.
   *
   * @param record the last that is known of the capture; undefined when it never got a record
   */
  async leave(account: string, request: AdmissionRequest, record: CaptureRecord | undefined): Promise<void> {
    if (record !== undefined && isOpen(record)) {
      this.#inBackground(() => this.#releaseAtEnd(account, request));
      return;
    }
    try {
      await withDeadline(this.#deps.admissions.release(account, request.id), leaveMs, 'giving a place back');
    } catch (error) {
      this.#deps.log.warn({ err: error, uuid: request.id, account }, 'a place could not be given back at once');
      this.#releaseInBackground(account, request);
    }
  }

  #releaseInBackground(account: string, { id, until }: AdmissionRequest): void {
    const { admissions, signal } = this.#deps;
    const deadline = this.#onOwnClock(until);
    this.#inBackground(() => retryTransient(() => admissions.release(account, id), { deadline, signal }));
  }

  async #releaseAtEnd(account: string, { id, until }: AdmissionRequest): Promise<void> {
    const { admissions, captures, signal } = this.#deps;
    const deadline = this.#onOwnClock(until);
    for (let attempt = 1; Date.now() < deadline && !signal.aborted; attempt++) {
      const read = () => captures.get(account, id);
      const found = await retryTransient(read, { deadline, signal });
      // A capture that a client waits for has no record before it ends.
      if (found !== null && !isOpen(found.value)) {
        await retryTransient(() => admissions.release(account, id), { deadline, signal });
        return;
      }
      await delay(backoffMs(attempt, 100, 2000), signal);
    }
  }

  /** A time by the server's clock as one by this process's, which may differ. */
  #onOwnClock(time: number): number {
    const { now = Date.now } = this.#deps;
    return Date.now() + (time - now());
  }

  /** Nobody waits for it, and when it fails, the place lapses by itself. */
  #inBackground(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => this.#deps.log.debug({ err: error }, 'giving a place back failed; it will lapse'));
  }
}
