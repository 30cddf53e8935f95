import type { CaptureStep } from '@webcapture/shared/api/capture-event.ts';
import { type CaptureFailure, type CaptureRecord, toFailure } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { fail, isOpen } from '@webcapture/shared/captures/transitions.ts';
import { contentTag, UploadRejectedError } from '@webcapture/shared/files/upload.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { UnsignedJob } from '@webcapture/shared/queue/job.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/queue/jobs.ts';
import { attemptAfter } from '@webcapture/shared/queue/tickets.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ConnectionMonitor } from '../nats.ts';
import type { PendingReplies, ReceivedReply } from './reply-inbox.ts';
import { type ReturnedJob, type Settlement, type ResultSettler, unknownVersionDelayMs } from './settlement.ts';

export interface AwaitDeps {
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly settlements: ResultSettler;
  readonly link: ConnectionMonitor;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Interval of reads of the record, in case the reply was lost and another front has settled the result. */
const pollIntervalMs = 2000;

/** Extra time after the deadline for results in transit. */
const graceMs = 500;

/** Timeout of one read or write of the record. */
const callTimeoutMs = 4000;

/** Time after the deadline for which reads of the record are retried. */
const maxReadDelayMs = 10_000;

/** Time for which the store may fail to accept the file before the capture fails. */
const settleTimeoutMs = 10_000;

/** Initial delay of retries: a reply can arrive before its file. */
const retryDelayMs = 50;

const failures = {
  queue: {
    code: 'CAPTURE_TIMEOUT',
    message: 'The capture waited in the queue until its deadline because no renderer was free. Try again later.',
    cause: 'service',
  },
  rendering: {
    code: 'CAPTURE_TIMEOUT',
    message: 'Rendering had started, but the capture did not end in time. Send the request again.',
    cause: 'service',
  },
  client: {
    code: 'CAPTURE_FAILED',
    message: 'The client disconnected before the capture had started.',
    cause: 'client',
    cancelled: true,
  },
} as const satisfies Record<string, CaptureFailure>;

/** Called with each step of the capture until it ends. A job that a renderer returns starts again. */
export type OnStep = (step: CaptureStep) => void;

/** The last state of a capture that is known to this front. */
export interface AwaitedResult {
  /** Still open if the client disconnected while the capture was being rendered. */
  readonly record: CaptureRecord;
  /** Content of the stored file, if it came with the reply or was read to verify it. */
  readonly bytes: Buffer | null;
}

interface AwaitedJob {
  readonly queued: QueuedJob;
  readonly draft: CaptureRecord;
  readonly mailbox: PendingReplies;
  /** Whether the caller needs the content of the file. */
  readonly wantsBytes: boolean;
  readonly onStep?: OnStep | undefined;
}

/**
 * Waits until an interactive capture has ended, and fails it at its deadline. The renderer replies to this front. If the
 * reply is lost, a front settles the result from the stream; therefore the record is read every two seconds and after each
 * reconnection. When the client disconnects, a capture that no renderer has taken is cancelled. A capture that is being
 * rendered continues.
 *
 * @throws ServiceError INTERNAL_ERROR if the record could not be read after the deadline
 */
export class CaptureWaiter {
  readonly #job: UnsignedJob;
  readonly #draft: CaptureRecord;
  readonly #mailbox: PendingReplies;
  readonly #wantsBytes: boolean;
  readonly #onStep: OnStep | undefined;
  readonly #deps: AwaitDeps;
  #queued: QueuedJob;
  #attempt = 1;

  constructor(job: UnsignedJob, { queued, draft, mailbox, wantsBytes, onStep }: AwaitedJob, deps: AwaitDeps) {
    this.#job = job;
    this.#queued = queued;
    this.#draft = draft;
    this.#mailbox = mailbox;
    this.#wantsBytes = wantsBytes;
    this.#onStep = onStep;
    this.#deps = deps;
  }

  async wait(clientGone: AbortSignal): Promise<AwaitedResult> {
    const { link, log, now } = this.#deps;
    let wake = new AbortController();
    const wakeUp = () => wake.abort();
    this.#mailbox.onDelivery(wakeUp);
    clientGone.addEventListener('abort', wakeUp);
    const stopListening = link.onReconnect(wakeUp);
    let lookedAt = this.#job.acceptedAt;
    try {
      for (;;) {
        for (let reply = this.#mailbox.take(); reply !== undefined; reply = this.#mailbox.take()) {
          const step = stepOf(reply);
          // Steps have no effect besides the event, so their ticket is not verified.
          if (step !== undefined && this.#onStep !== undefined) {
            if (reply.region === this.#job.region) this.#onStep(step);
            continue;
          }
          const end = await this.#settle(reply);
          if (end !== null) return end;
        }
        if (!clientGone.aborted) {
          await delay(Math.max(1, Math.min(pollIntervalMs, this.#nextTurn(lookedAt) - now())), wake.signal);
        }
        wake = new AbortController();
        if (!this.#mailbox.isEmpty) continue;
        lookedAt = now();
        try {
          const looking = this.#look(lookedAt, clientGone.aborted);
          const record = await withDeadline(looking, callTimeoutMs, 'reading a capture');
          if (record !== null && (!isOpen(record) || clientGone.aborted)) return { record, bytes: null };
        } catch (error) {
          if (!isTransient(error)) throw error;
          log.warn({ err: error, uuid: this.#job.uuid }, 'the state of a capture could not be read; trying again');
          if (now() >= this.#job.deadline + maxReadDelayMs || clientGone.aborted) throw unreadable(error);
          await delay(100);
        }
      }
    } finally {
      stopListening();
      clientGone.removeEventListener('abort', wakeUp);
    }
  }

  /** Settles a reply. Returns null if the capture has not ended afterwards. */
  async #settle({ result, region, at, bytes }: ReceivedReply): Promise<AwaitedResult | null> {
    const { settlements, now, log } = this.#deps;
    const deadline = Math.min(now() + settleTimeoutMs, this.#job.deadline + graceMs);
    for (let attempt = 1; ; attempt++) {
      try {
        const settlement = await settlements.settle(result, {
          region,
          at,
          deadline,
          isAwaited: true,
          wantsBytes: this.#wantsBytes,
          draft: this.#draft,
        });
        const { returned } = settlement;
        if (returned?.ticket.uuid === this.#job.uuid) await this.#requeue(returned);
        return this.#endOf(settlement, bytes);
      } catch (error) {
        const isOver = now() >= deadline;
        log.warn({ err: error, uuid: this.#job.uuid, attempt }, 'a result could not be settled');
        if (isOver && error instanceof ServiceError && error.code === 'STORAGE_FAILED') {
          return this.#fail(toFailure(error));
        }
        // A front settles the result from the stream later.
        if (isOver || !(isTransient(error) || error instanceof ServiceError || isMissing(error))) return null;
        await delay(Math.min(1000, retryDelayMs * 2 ** (attempt - 1)));
      }
    }
  }

  #endOf({ record, file, bytes: read }: Settlement, bytes: Buffer | null): AwaitedResult | null {
    if (record === null || record.uuid !== this.#job.uuid || isOpen(record)) return null;
    if (read !== undefined) return { record, bytes: read };
    // If another renderer was first, its file is the stored one, and is read from the store.
    const isFile = bytes !== null && file !== undefined && contentTag(bytes) === file.etag;
    return { record, bytes: isFile ? bytes : null };
  }

  async #requeue({ ticket, reason }: ReturnedJob): Promise<void> {
    // The job was returned before with the same ticket.
    if (attemptAfter(ticket) <= this.#attempt) return;
    if (reason === 'unknown_version') await delay(unknownVersionDelayMs);
    const attempt = attemptAfter(ticket);
    const job = { ...this.#job, ticket: { ...this.#job.ticket, attempt } };
    this.#queued = await this.#deps.jobs.publish(job);
    this.#attempt = attempt;
    this.#onStep?.('queued');
  }

  /** Reads the record, and ends the capture if its deadline has passed. Returns null if the capture has not ended. */
  async #look(now: number, clientIsGone: boolean): Promise<CaptureRecord | null> {
    const { account, uuid, startBy, deadline } = this.#job;
    if (now >= deadline + graceMs) return (await this.#fail(failures.rendering)).record;
    const record = (await this.#deps.captures.get(account, uuid))?.value ?? null;
    if (record !== null || (!clientIsGone && now < startBy + graceMs)) return record;
    if (await this.#deps.jobs.isTaken(this.#job, this.#queued)) return clientIsGone ? this.#draft : null;
    return (await this.#fail(clientIsGone ? failures.client : failures.queue)).record;
  }

  async #fail(failure: CaptureFailure): Promise<AwaitedResult> {
    const { captures, jobs, log } = this.#deps;
    const { record } = await captures.end(this.#job.ticket, fail(0, failure));
    if (record === null) throw new ServiceError('INTERNAL_ERROR', 'The capture was removed while it was in progress.');
    // The capture has ended. If a renderer takes the job nevertheless, its result is discarded.
    jobs
      .remove(this.#queued)
      .catch((error: unknown) =>
        log.debug({ err: error }, 'the job of a failed capture could not be removed from the queue'),
      );
    return { record, bytes: null };
  }

  /** Returns when the record must be read next. */
  #nextTurn(lookedAt: number): number {
    const { startBy, deadline } = this.#job;
    return (lookedAt < startBy + graceMs ? startBy : deadline) + graceMs;
  }
}

function stepOf({ result: { outcome } }: ReceivedReply): CaptureStep | undefined {
  if (outcome.kind === 'started') return 'rendering';
  return outcome.kind === 'rendered' ? 'storing' : undefined;
}

const isMissing = (error: unknown) => error instanceof UploadRejectedError && error.reason === 'missing';

function unreadable(cause: unknown): ServiceError {
  return new ServiceError(
    'INTERNAL_ERROR',
    'The outcome of the capture is unknown. Get the capture by its uuid, or send the request again.',
    { cause },
  );
}
