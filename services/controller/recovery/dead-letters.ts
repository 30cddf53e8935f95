import type { DeadLetter } from '@webcapture/shared/api/admin.ts';
import { captureJobVersion } from '@webcapture/shared/queue/job.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { getMessage } from '@webcapture/shared/nats/get-message.ts';
import type { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { deadLetterDurable, regionOfSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { inTraceOf, withSpan } from '@webcapture/shared/tracing/spans.ts';
import type { Term } from '../leader/election.ts';
import { pullInTerm } from '../leader/pull-in-term.ts';
import type { FailCapture } from './fail-capture.ts';
import { fieldsOf, readQueuedJob, type QueuedJob } from './queued-jobs.ts';

const retryMs = 5000;

/** The server cannot distinguish a renderer that crashed because of the page from one that lost NATS, so the message names both. */
const messages = {
  max_deliveries:
    'No renderer finished the capture in three attempts: the page brought its renderer down, or the renderer lost its connection. Send the request again; if it fails again, the page is the cause.',
  terminated: 'The capture could not be rendered.',
} as const satisfies Record<Advisory['reason'], string>;

/** Renderers return such a job without counting the delivery. If it becomes a dead letter nevertheless, that is a fault of the service. */
const unknownVersion = 'No renderer of the region knows this kind of capture. Upgrade the renderers.';

export interface DeadLetterDeps {
  readonly session: NatsSession;
  readonly inbox: PullInbox;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly failCapture: FailCapture;
  readonly deadLetters: DeadLetters;
  readonly log: Logger;
}

/** Settles captures whose jobs the server no longer delivers, during the term. Never throws. */
export async function settleDeadLetters(deps: DeadLetterDeps, term: Term): Promise<void> {
  const { inbox, log } = deps;
  const pulled = { inbox, stream: streamNames.dead, durable: deadLetterDurable, parallel: 1, log };
  await pullInTerm(pulled, term, async (letter) => {
    try {
      await settleDeadLetter(deps, letter.data);
      await letter.ack();
    } catch (error) {
      // The server redelivers the dead letter. Settling it twice has no further effect.
      log.warn({ err: error }, 'settling a dead letter failed; retrying');
      letter.nak(retryMs);
    }
  });
}

/** Settles the job that an advisory names. Ignores other advisories and jobs that no longer exist. */
async function settleDeadLetter(deps: DeadLetterDeps, data: Uint8Array): Promise<void> {
  const { session, jobs, failCapture } = deps;
  const advisory = parseAdvisory(data);
  if (advisory === null) return;
  const { sequence, reason, deliveries } = advisory;
  // A terminated message is no longer in the work queue.
  const message = await getMessage(session.jsm.streams, streamNames.captures, { seq: sequence });
  if (message === null) return;
  const job = readQueuedJob(message.data);
  if (job !== null) {
    const text = job.version === captureJobVersion ? messages[reason] : unknownVersion;
    const failure = { code: 'CAPTURE_FAILED', message: text, cause: 'service' } as const;
    const settle = () => failCapture(job, { reason, failure, unlessBegun: false });
    const attributes = { 'webcapture.capture.id': job.uuid, 'webcapture.dead_letter.reason': reason };
    await inTraceOf({ headers: message.header }, () => withSpan('settle dead letter', { attributes }, settle));
    const region = regionOfSubject(message.subject);
    if (region !== null) await note(deps, job, { region, reason, deliveries });
  }
  await jobs.remove({ sequence });
}

/** Stores the dead letter for operators. If that fails, the job is settled nevertheless. */
async function note(
  { deadLetters, session, log }: DeadLetterDeps,
  { uuid, account }: QueuedJob,
  about: Pick<DeadLetter, 'region' | 'reason' | 'deliveries'>,
): Promise<void> {
  try {
    await deadLetters.add({ at: new Date(session.now()).toISOString(), uuid, account, ...about });
  } catch (error) {
    log.debug({ err: error, uuid }, 'storing a dead letter failed');
  }
}

/** The server's advisory that it will not deliver a message again. */
export interface Advisory {
  readonly reason: 'max_deliveries' | 'terminated';
  /** Sequence of the message in the stream. */
  readonly sequence: number;
  readonly deliveries: number;
}

const types = {
  'io.nats.jetstream.advisory.v1.max_deliver': 'max_deliveries',
  'io.nats.jetstream.advisory.v1.terminated': 'terminated',
} as const;

/** Parses an advisory of nats-server (schemas: github.com/nats-io/jsm.go). Returns null for an advisory of any other kind. */
export function parseAdvisory(data: Uint8Array): Advisory | null {
  const { type, stream_seq: sequence, deliveries } = fieldsOf(data);
  if (typeof type !== 'string' || !Object.hasOwn(types, type) || typeof sequence !== 'number') return null;
  const reason = types[type as keyof typeof types];
  return { reason, sequence, deliveries: typeof deliveries === 'number' ? deliveries : 0 };
}
