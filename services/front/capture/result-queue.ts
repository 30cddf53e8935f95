import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { storeRetryMs } from '@webcapture/shared/captures/times.ts';
import { attemptOf, isOpen, requeue } from '@webcapture/shared/captures/transitions.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type PulledMessage, PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { PullSubscription } from '@webcapture/shared/nats/pull.ts';
import { regionOfSubject, resultDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { parseResult } from '@webcapture/shared/queue/results.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { attemptAfter, seemsInteractive } from '@webcapture/shared/queue/tickets.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { ThrottledLogger } from '@webcapture/shared/runtime/throttled-logger.ts';
import { inTraceOf } from '@webcapture/shared/tracing/spans.ts';
import { type ReturnedJob, type ResultSettler, unknownVersionDelayMs } from './settlement.ts';

export interface ResultQueueDeps {
  readonly session: NatsSession;
  readonly settlements: ResultSettler;
  readonly captures: Captures;
  readonly followUps: FollowUps;
  readonly jobs: Jobs;
  readonly tasks: Tasks;
  /** Removes HTML that will not be rendered again. */
  readonly removeHtml: (name: string) => Promise<void>;
  /** Called for each message that is not a valid result. */
  readonly onMalformed: () => void;
  readonly log: Logger;
}

/** Maximum number of results that this front settles concurrently. */
const maxConcurrent = 1000;

/** Size above which a result is large, because of the options of an interactive capture or the state of a session. */
const minLargeBytes = 64 * 1024;

/** Maximum total size of the large results that this front settles concurrently. It bounds the memory that a renderer can occupy. */
const maxLargeBytes = 32 * 1024 * 1024;

/** Delay of interactive results, so that the front that waits for a capture settles it first. */
const awaitedDelayMs = 500;

/** Delay of the redelivery of a result that could not be settled, or for which there is no room, to any front. */
const retryDelayMs = 2000;

/** Timeout of settling one result, well below the ack wait after which another front gets it. */
const settleTimeoutMs = 20_000;

/**
 * Interval at which the front asks the server for more time to settle a result. The server waits 30 s for an acknowledgement, and comparing
 * pictures may take longer.
 */
const workingIntervalMs = 10_000;

/** Number of failed deliveries after which a failure is considered permanent, unless the store or NATS is unavailable. */
const maxDeliveries = 20;

/**
 * Takes the results of all regions from their queue and settles those that have no waiting front, because the capture has no waiting client
 * or its front has died. Results that a waiting front has settled are processed as well. The follow-ups of each capture are therefore
 * scheduled even if that front dies.
 */
export class ResultQueue {
  readonly #deps: ResultQueueDeps;
  readonly #rarely: ThrottledLogger;
  readonly #inbox: PullInbox;
  readonly #results: PullSubscription;
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Number of free slots that are not requested yet; many are requested at once. */
  #free = 0;
  /** Total size of the large results that are being settled. */
  #largeBytes = 0;

  constructor(deps: ResultQueueDeps) {
    this.#deps = deps;
    this.#rarely = new ThrottledLogger(deps.log);
    this.#inbox = new PullInbox(deps.session);
    this.#results = new PullSubscription(this.#inbox, {
      stream: streamNames.results,
      durable: resultDurable,
      onMessage: (message) => this.#receive(message),
      onProblem: (error) => deps.log.warn({ err: error }, 'results cannot be received; trying again'),
    });
    this.#results.request(maxConcurrent);
  }

  /** Stops taking results. Resolves when those already taken are settled or left to another front. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#results.close();
    this.#inbox.close();
    await Promise.all(this.#running);
  }

  #receive(message: PulledMessage): void {
    const { length } = message.data;
    const largeBytes = length > minLargeBytes ? length : 0;
    if (largeBytes > 0 && this.#largeBytes + largeBytes > maxLargeBytes) {
      message.nak(retryDelayMs);
      this.#requestAnother();
      return;
    }
    this.#largeBytes += largeBytes;
    const settling = inTraceOf(message, () => this.#settle(message)).finally(() => {
      this.#running.delete(settling);
      this.#largeBytes -= largeBytes;
      this.#requestAnother();
    });
    this.#running.add(settling);
  }

  #requestAnother(): void {
    if (++this.#free < maxConcurrent / 10) return;
    this.#results.request(this.#free);
    this.#free = 0;
  }

  /** Settles one result. Never throws. */
  async #settle(message: PulledMessage): Promise<void> {
    const { settlements, onMalformed, log, session } = this.#deps;
    const region = regionOfSubject(message.subject);
    const result = parseResult(message.data);
    const heartbeat = setInterval(() => message.working(), workingIntervalMs);
    try {
      if (region === null || result === null) {
        onMalformed();
        this.#rarely.warn(
          { subject: message.subject, bytes: message.data.length },
          'a result of a renderer is malformed',
        );
      } else {
        const { outcome } = result;
        if (outcome.kind === 'returned' && outcome.reason === 'unknown_version' && message.delivery === 1) {
          message.nak(unknownVersionDelayMs);
          return;
        }
        if (message.delivery === 1 && seemsInteractive(result.ticket))
          await delay(awaitedDelayMs, this.#closing.signal);
        const deadline = session.now() + settleTimeoutMs;
        const settlement = await settlements.settle(result, {
          region,
          at: message.timestamp,
          deadline,
          isAwaited: false,
        });
        if (settlement.returned !== undefined) await this.#requeue(settlement.returned);
        if (settlement.record !== null) await this.#follow(settlement.record);
        // The confirmation is not awaited, because forged or malformed results may arrive by the thousands a second.
        if (settlement.outcome !== 'forged') return await message.ack();
      }
      message.terminate('not a result of a job');
    } catch (error) {
      if (message.delivery >= maxDeliveries && !isTransient(error) && !(error instanceof ServiceError)) {
        onMalformed();
        log.error(
          { err: error, subject: message.subject },
          'a result was discarded after too many deliveries: it cannot be settled',
        );
        message.terminate('cannot be settled');
        return;
      }
      log.warn({ err: error, delivery: message.delivery }, 'a result could not be settled; it is delivered again');
      message.nak(retryDelayMs);
    } finally {
      clearInterval(heartbeat);
    }
  }

  async #follow(record: CaptureRecord): Promise<void> {
    const { followUps, removeHtml, log } = this.#deps;
    if (isOpen(record)) return;
    await followUps.schedule(record);
    if (record.html !== undefined && record.persistence === undefined) {
      await removeHtml(record.html).catch((error: unknown) =>
        log.debug({ err: error }, 'supplied html could not be removed; it expires later'),
      );
    }
  }

  /**
   * Queues a returned job again, only once for each ticket. If the file could not be stored, the leader queues the job later. An
   * interactive job is queued by the front that waits for it, if that front still waits.
   */
  async #requeue({ ticket, reason }: ReturnedJob): Promise<void> {
    const { session, captures, jobs, tasks, log } = this.#deps;
    if (ticket.draft !== undefined) return;
    const { account, uuid, revision, region } = ticket;
    const attempt = attemptAfter(ticket);
    const record = await captures.change(ticket, requeue(revision, attempt));
    // A later attempt may be in progress already.
    if (record === null || !isOpen(record, revision) || attemptOf(record, revision) !== attempt) return;
    log.info({ uuid, region, reason, attempt }, 'returned job queued again');
    if (reason === 'store_unavailable') {
      const at = session.now() + storeRetryMs(attempt);
      return tasks.schedule({ kind: 'dispatch', account, uuid, revision }, at);
    }
    await jobs.publish(jobOf(record, revision));
  }
}
