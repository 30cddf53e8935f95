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
import { RareLog } from '../rare-log.ts';
import { type ReturnedJob, type Settlements, unknownVersionDelayMs } from './settlement.ts';

interface ResultQueueDeps {
  readonly session: NatsSession;
  readonly settlements: Pick<Settlements, 'settle'>;
  readonly captures: Pick<Captures, 'get' | 'change'>;
  readonly followUps: Pick<FollowUps, 'arrange'>;
  readonly jobs: Pick<Jobs, 'publish'>;
  readonly tasks: Pick<Tasks, 'schedule'>;
  /** Html that nobody renders again. */
  readonly removeHtml: (name: string) => Promise<void>;
  /** Told of what is no result. */
  readonly onMalformed: () => void;
  readonly log: Logger;
}

/** Results that this front settles at a time. */
const maxAtOnce = 1000;

/** The front that waits for a capture settles it at once: others leave it this much time, not to do the same work. */
const awaitedDelayMs = 500;

/** A result that cannot be settled now comes again after this, to any front. */
const retryDelayMs = 2000;

/** How long settling one may take: well below the wait after which another front gets it. */
const settleTimeoutMs = 20_000;

/** What fails so often, and neither for want of the store nor of NATS, fails for ever. */
const maxDeliveries = 20;

/**
 * Takes results of all regions out of their queue and settles them: those of captures that nobody waits for, those whose
 * front has died, and once more those that a waiting front has settled, so that what follows the end of a capture is
 * seen to although that front may die at any moment.
 */
export class ResultQueue {
  readonly #deps: ResultQueueDeps;
  readonly #rarely: RareLog;
  readonly #inbox: PullInbox;
  readonly #results: PullSubscription;
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Not requested again yet: many are, at once. */
  #free = 0;

  constructor(deps: ResultQueueDeps) {
    this.#deps = deps;
    this.#rarely = new RareLog(deps.log);
    this.#inbox = new PullInbox(deps.session);
    this.#results = new PullSubscription(this.#inbox, {
      stream: streamNames.results,
      durable: resultDurable,
      onMessage: (message) => this.#receive(message),
      onProblem: (error) => deps.log.warn({ err: error }, 'results cannot be received; trying again'),
    });
    this.#results.request(maxAtOnce);
  }

  /** Takes no more, and resolves when those that were taken are settled or left to another front. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#results.close();
    this.#inbox.close();
    await Promise.all(this.#running);
  }

  #receive(message: PulledMessage): void {
    const settling = this.#settle(message).finally(() => {
      this.#running.delete(settling);
      if (++this.#free < maxAtOnce / 10) return;
      this.#results.request(this.#free);
      this.#free = 0;
    });
    this.#running.add(settling);
  }

  /** Never throws. */
  async #settle(message: PulledMessage): Promise<void> {
    const { settlements, onMalformed, log, session } = this.#deps;
    const region = regionOfSubject(message.subject);
    const result = parseResult(message.data);
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
        // What is forged or malformed may come thousands of times a second: no confirmation is waited for.
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
    }
  }

  async #follow(record: CaptureRecord): Promise<void> {
    const { followUps, removeHtml, log } = this.#deps;
    if (isOpen(record)) return;
    await followUps.arrange(record);
    if (record.html !== undefined && record.persistence === undefined) {
      await removeHtml(record.html).catch((error: unknown) =>
        log.debug({ err: error }, 'supplied html could not be removed; it expires by itself'),
      );
    }
  }

  /**
   * Queues a job that a renderer returned again, once per ticket however often it is returned; a job that the store did not take later,
   * by the leader. An interactive one is queued by the front that waits for it, if it still does.
   */
  async #requeue({ ticket, reason }: ReturnedJob): Promise<void> {
    const { session, captures, jobs, tasks, log } = this.#deps;
    if (ticket.draft !== undefined) return;
    const { account, uuid, revision, region } = ticket;
    const attempt = attemptAfter(ticket);
    const record = await captures.change(ticket, requeue(revision, attempt));
    // A later attempt may be under way already.
    if (record === null || !isOpen(record, revision) || attemptOf(record, revision) !== attempt) return;
    log.info({ uuid, region, reason, attempt }, 'a renderer returned a job; it is queued again');
    if (reason === 'store_unavailable') {
      const at = session.now() + storeRetryMs(attempt);
      return tasks.schedule({ kind: 'dispatch', account, uuid, revision }, at);
    }
    await jobs.publish(jobOf(record, revision));
  }
}
