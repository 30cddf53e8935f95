import type { CaptureStep } from '@webcapture/shared/api/capture-event.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { toFailure } from '@webcapture/shared/captures/failure.ts';
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
import type { NatsLink } from '../nats.ts';
import type { Mailbox, ReceivedReply } from './reply-inbox.ts';
import { type ReturnedJob, type Settlement, type Settlements, unknownVersionDelayMs } from './settlement.ts';

export interface AwaitDeps {
  readonly captures: Pick<Captures, 'get' | 'end'>;
  readonly jobs: Pick<Jobs, 'publish' | 'isTaken' | 'remove'>;
  readonly settlements: Pick<Settlements, 'settle'>;
  readonly link: Pick<NatsLink, 'onReconnect'>;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly log: Logger;
}

/** How often the record is read, in case the reply was lost and another front has settled the result. */
const pollIntervalMs = 2000;

/** Results that are on their way when the time is up still count. */
const graceMs = 500;

/** One reading or writing of the record. */
const callTimeoutMs = 4000;

/** When the state could not be read for so long after the deadline, the front gives up. */
const giveUpMs = 10_000;

/** How long the store may refuse to take the file of a result before the capture fails. */
const settleTimeoutMs = 10_000;

/** A reply may be quicker than the file that it tells of. */
const retryDelayMs = 50;

const failures = {
  queue: {
    code: 'CAPTURE_TIMEOUT',
    message: 'The capture waited in the queue for longer than it may: no renderer was free. Try again later.',
    cause: 'service',
  },
  rendering: {
    code: 'CAPTURE_TIMEOUT',
    message: 'Rendering had begun, but the capture did not end in time. Send the request again.',
    cause: 'service',
  },
  client: {
    code: 'CAPTURE_FAILED',
    message: 'The client went away before the capture had begun.',
    cause: 'client',
    cancelled: true,
  },
} as const satisfies Record<string, CaptureFailure>;

/** Is told of each step that a capture takes until it ends; a job that was handed back begins anew. */
export type OnStep = (step: CaptureStep) => void;

/** How a capture ended, as far as this front knows. */
export interface AwaitedEnd {
  /** Still open when the client went away from a capture that is being rendered. */
  readonly record: CaptureRecord;
  /** Of the file that is in the store, where it came along with the reply, or was read to verify it. */
  readonly bytes: Buffer | null;
}

interface AwaitedJob {
  readonly queued: QueuedJob;
  readonly draft: CaptureRecord;
  readonly mailbox: Mailbox;
  /** Whoever waits wants the bytes of the file. */
  readonly wantsBytes: boolean;
  readonly onStep?: OnStep | undefined;
}

/**
 * Waits until an interactive capture has ended, and ends it when its time is up. The renderer replies here; should the
 * reply get lost, another front settles the result, and the record, which is read every two seconds and at once after a
 * reconnection, tells. When the client goes away, a capture that no renderer has taken is cancelled; one that is being
 * rendered is left to end by itself.
 *
 * @throws ServiceError INTERNAL_ERROR when the record could not be read although the deadline has passed
 */
export class EndWaiter {
  readonly #job: UnsignedJob;
  readonly #draft: CaptureRecord;
  readonly #mailbox: Mailbox;
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

  async wait(clientGone: AbortSignal): Promise<AwaitedEnd> {
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
          // Nothing is decided by it, so its ticket is not looked at.
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
          if (now() >= this.#job.deadline + giveUpMs || clientGone.aborted) throw unreadable(error);
          await delay(100);
        }
      }
    } finally {
      stopListening();
      clientGone.removeEventListener('abort', wakeUp);
    }
  }

  /** Null while the capture has not ended by that. */
  async #settle({ result, region, at, bytes }: ReceivedReply): Promise<AwaitedEnd | null> {
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
        // Another front settles it when it can.
        if (isOver || !(isTransient(error) || error instanceof ServiceError || isMissing(error))) return null;
        await delay(Math.min(1000, retryDelayMs * 2 ** (attempt - 1)));
      }
    }
  }

  #endOf({ record, file, bytes: read }: Settlement, bytes: Buffer | null): AwaitedEnd | null {
    if (record === null || record.uuid !== this.#job.uuid || isOpen(record)) return null;
    if (read !== undefined) return { record, bytes: read };
    // Another renderer may have been first, and its file is the one that stays: then that is read from the store.
    const isFile = bytes !== null && file !== undefined && contentTag(bytes) === file.etag;
    return { record, bytes: isFile ? bytes : null };
  }

  async #requeue({ ticket, reason }: ReturnedJob): Promise<void> {
    // Returned before under the same ticket.
    if (attemptAfter(ticket) <= this.#attempt) return;
    if (reason === 'unknown_version') await delay(unknownVersionDelayMs);
    const attempt = attemptAfter(ticket);
    const job = { ...this.#job, ticket: { ...this.#job.ticket, attempt } };
    this.#queued = await this.#deps.jobs.publish(job);
    this.#attempt = attempt;
    this.#onStep?.('queued');
  }

  /** Reads the record, or ends the capture when it is time for that. Null: it has not ended. */
  async #look(now: number, clientIsGone: boolean): Promise<CaptureRecord | null> {
    const { account, uuid, startBy, deadline } = this.#job;
    if (now >= deadline + graceMs) return (await this.#fail(failures.rendering)).record;
    const record = (await this.#deps.captures.get(account, uuid))?.value ?? null;
    if (record !== null || (!clientIsGone && now < startBy + graceMs)) return record;
    if (await this.#deps.jobs.isTaken(this.#job, this.#queued)) return clientIsGone ? this.#draft : null;
    return (await this.#fail(clientIsGone ? failures.client : failures.queue)).record;
  }

  async #fail(failure: CaptureFailure): Promise<AwaitedEnd> {
    const { captures, jobs, log } = this.#deps;
    const { record } = await captures.end(this.#job.ticket, fail(0, failure));
    if (record === null) throw new ServiceError('INTERNAL_ERROR', 'The capture was removed while it was under way.');
    // Nobody waits for it. A renderer that gets it all the same works in vain: its result finds that the capture has ended.
    jobs
      .remove(this.#queued)
      .catch((error: unknown) =>
        log.debug({ err: error }, 'the job of a failed capture could not be removed from the queue'),
      );
    return { record, bytes: null };
  }

  /** When the record has to be looked at next, whatever else happens. */
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
    'How the capture ended could not be found out. Ask for it by its uuid, or send the request again.',
    { cause },
  );
}
