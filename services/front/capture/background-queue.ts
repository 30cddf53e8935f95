import type { Isolation } from '@webcapture/shared/api/account.ts';
import { type CaptureRecord, toFailure } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { backgroundWaitMs, dispatchAfterMs, overdueAt } from '@webcapture/shared/captures/times.ts';
import { isOpen, refreshOrderOf, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { isStreamFull } from '@webcapture/shared/nats/api-errors.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { Task, Tasks } from '@webcapture/shared/queue/tasks.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { toServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { type AcceptedRequest, type NewCapture, newRecord } from './accept-request.ts';
import { acceptTimeoutMs, type HtmlStore, orUnavailable, publishJob, putHtml } from './publish-job.ts';
import type { RegionSelector } from './regions.ts';

export interface BackgroundQueueDeps {
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly tasks: Tasks;
  readonly regions: RegionSelector;
  readonly htmlStore: HtmlStore;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly log: Logger;
}

/** Time for which the cancellation of a refused capture is retried, because the server may be unavailable for minutes. */
const cancelTimeoutMs = 10 * 60_000;

const refusalTimeoutMs = 1000;

/**
 * Queues captures and refreshes without a waiting client. Every accepted capture is rendered, even if processes die. To ensure this, the
 * record is written before the job, and a task is scheduled before both. The task makes the leader queue the job if this front could not do
 * it. Later it makes the leader end the capture if no renderer has ended it.
 */
export class BackgroundQueue {
  readonly #deps: BackgroundQueueDeps;

  constructor(deps: BackgroundQueueDeps) {
    this.#deps = deps;
  }

  /**
   * Queues a capture and reserves its tokens in the usage ledger. If it throws, nothing is rendered.
   *
   * @throws ServiceError REGION_UNAVAILABLE, QUEUE_FULL, STORAGE_FAILED, INTERNAL_ERROR
   */
  async enqueue(request: AcceptedRequest, capture: NewCapture): Promise<CaptureRecord> {
    const { captures, regions, htmlStore, tasks, now } = this.#deps;
    const { account, uuid } = capture;
    const region = await regions.choose(request.region);
    const record = newRecord(request, capture, { region, waitMs: backgroundWaitMs });
    if (record.html !== undefined) await putHtml(htmlStore, record.html, request, record);
    const guard = { kind: 'dispatch', account, uuid, revision: 0 } as const;
    const accept = { deadline: now() + acceptTimeoutMs, now };
    try {
      await tasks.schedule(guard, now() + dispatchAfterMs, accept.deadline);
      await captures.create(record, accept);
    } catch (error) {
      // The record may have been written although the response was lost. Cancel it, because the client receives an error.
      void this.#cancel(record, 0, error);
      throw orUnavailable(error);
    }
    await this.#publish(record, 0, guard);
    return record;
  }

  /**
   * Queues the next refresh of a completed capture, with the current isolation of its account, unless another refresh has
   * started since the record was read. Returns the new record, or null if there is none.
   *
   * @throws ServiceError QUEUE_FULL, INTERNAL_ERROR
   */
  async enqueueRefresh(record: CaptureRecord, region: Region, isolation?: Isolation): Promise<CaptureRecord | null> {
    const { captures, tasks, now } = this.#deps;
    const { account, uuid } = record;
    const acceptedAt = now();
    const order = refreshOrderOf(record, {
      by: 'request',
      region,
      acceptedAt,
      ...(isolation === undefined ? {} : { isolation }),
    });
    const { revision: refreshNumber } = order;
    const guard = { kind: 'dispatch', account, uuid, revision: refreshNumber } as const;
    const accept = { deadline: acceptedAt + acceptTimeoutMs, now };
    let queued: CaptureRecord | null;
    try {
      await tasks.schedule(guard, now() + dispatchAfterMs, accept.deadline);
      const changing = captures.change(record, startRefresh(order), accept);
      queued = await withDeadline(changing, acceptTimeoutMs, 'queueing a refresh');
    } catch (error) {
      throw orUnavailable(error);
    }
    if (queued !== null && isOpen(queued, refreshNumber)) await this.#publish(queued, refreshNumber, guard);
    return queued;
  }

  async #publish(record: CaptureRecord, refreshNumber: number, guard: Task): Promise<void> {
    const { jobs, tasks, log } = this.#deps;
    const job = jobOf(record, refreshNumber);
    try {
      await publishJob(jobs, job, this.#deps.now() + acceptTimeoutMs);
    } catch (error) {
      if (error instanceof Error && isStreamFull(error.cause)) {
        // The record should show the refusal when the client gets its response, but the client does not wait long for that.
        await Promise.race([this.#cancel(record, refreshNumber, error), delay(refusalTimeoutMs)]);
        throw error;
      }
      // The capture is accepted: the leader queues the job when the queue is available.
      log.warn({ err: error, uuid: record.uuid }, 'a job could not be queued; the leader queues it later');
      return;
    }
    // Postpones the dispatch task until the capture is overdue. On failure, the leader finds the job queued and postpones the task.
    tasks
      .schedule(guard, overdueAt(job.deadline))
      .catch((error: unknown) => log.debug({ err: error }, 'the dispatch task of a queued job could not be postponed'));
  }

  /** Cancels a capture or refresh. Never throws: a capture that cannot be cancelled is rendered. */
  async #cancel(record: CaptureRecord, refreshNumber: number, error: unknown): Promise<void> {
    const failure = { ...toFailure(toServiceError(orUnavailable(error))), cancelled: true } as const;
    const { account, uuid, html } = record;
    const settle = async () => {
      await this.#deps.captures.fail({ account, uuid, revision: refreshNumber }, failure);
      if (html !== undefined && refreshNumber === 0) await this.#deps.htmlStore.remove(html);
    };
    try {
      await retryTransient(settle, { deadline: this.#deps.now() + cancelTimeoutMs, now: this.#deps.now });
    } catch (failure) {
      this.#deps.log.warn({ err: failure, uuid }, 'a capture that was not accepted could not be cancelled');
    }
  }
}
