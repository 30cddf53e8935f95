import type { JobEnvelope, JobReply } from '@webcapture/shared/queue/job.ts';
import { isStreamFull } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { resultSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { JobOutcome, JobResult } from '@webcapture/shared/queue/results.ts';
import { encodeReply } from '@webcapture/shared/queue/encode-reply.ts';
import { traceHeaders, SpanKind, withSpan } from '@webcapture/shared/tracing/spans.ts';

/** A job with the delivery data of this renderer. */
export interface DeliveredJob {
  readonly job: JobEnvelope;
  readonly delivery: number;
  /** On the clock of `performance.now()`. */
  readonly takenAt: number;
}

/** Publishes the results of jobs: durably to the results stream, and directly to the front that waits for the capture. */
export class ResultPublisher {
  readonly #session: NatsSession;
  readonly #pod: string;

  constructor(session: NatsSession, pod: string) {
    this.#session = session;
    this.#pod = pod;
  }

  /**
   * Publishes the result of a job and awaits the confirmation, with retries until `deadline` (Unix ms, on this process's clock) or until
   * the signal aborts. Also replies to the waiting front. Throws the error of NATS. When the promise resolves, the job is complete, even if
   * this renderer dies then.
   */
  async publish(delivered: DeliveredJob, outcome: JobOutcome, deadline: number, signal?: AbortSignal): Promise<void> {
    const { uuid, revision, region, reply, resultTtlSeconds: ttl } = delivered.job;
    // If the capture completed, the front has already been answered, together with the file.
    if (outcome.kind !== 'completed' && reply?.wants !== 'start') this.reply(delivered, outcome);
    const id = `${uuid}:${revision}`;
    const publishedAt = performance.now();
    const publish = () =>
      retryTransient(
        (timeout) => {
          const waitedMs = performance.now() - publishedAt;
          const now = outcome.kind === 'completed' ? { ...outcome, ageMs: outcome.ageMs + waitedMs } : outcome;
          return this.#session.js.publish(resultSubject(region, uuid), JSON.stringify(this.#resultOf(delivered, now)), {
            // A job that is returned will have another result later, so this one has its own id.
            msgID: outcome.kind === 'returned' ? `${id}:returned:${this.#pod}:${delivered.takenAt}` : id,
            timeout,
            expect: { streamName: streamNames.results },
            ...(ttl === undefined ? {} : { ttl: `${ttl}s` }),
            ...traceHeaders(),
          });
        },
        // A full results stream has space again when fronts have settled results. A full disk has space again when files have expired.
        { deadline, attemptTimeoutMs: 5000, mayPass: isStreamFull, ...(signal === undefined ? {} : { signal }) },
      );
    await withSpan('send result', { kind: SpanKind.PRODUCER, attributes: sendAttributes }, publish);
  }

  /**
   * Replies to the waiting front, if there is one. Uses core NATS, so the reply may be lost. `bytes` is the file, which is sent if it is
   * requested and fits. Never throws, because the authoritative result is published as well.
   */
  reply(delivered: DeliveredJob, outcome: JobOutcome, bytes: Buffer | null = null): void {
    const { reply } = delivered.job;
    if (reply === undefined || !isWanted(reply, outcome)) return;
    const { nc } = this.#session;
    const file = reply.wants === 'bytes' ? bytes : null;
    try {
      nc.publish(reply.subject, encodeReply(this.#resultOf(delivered, outcome), file, nc.info?.max_payload ?? 0));
    } catch {
      // The connection to NATS is closed.
    }
  }

  #resultOf({ job, delivery, takenAt }: DeliveredJob, outcome: JobOutcome): JobResult {
    return { ticket: job.ticket, pod: this.#pod, delivery, elapsedMs: performance.now() - takenAt, outcome };
  }
}

/** The subject contains the uuid, so the span names the stream as its destination. */
const sendAttributes = {
  'messaging.system': 'nats',
  'messaging.operation.type': 'send',
  'messaging.operation.name': 'publish',
  'messaging.destination.name': streamNames.results,
};

function isWanted({ wants, progress }: JobReply, { kind }: JobOutcome): boolean {
  const isFollowed = progress === true;
  if (kind === 'started') return isFollowed || wants === 'start';
  return kind === 'rendered' ? isFollowed : wants !== 'start';
}
