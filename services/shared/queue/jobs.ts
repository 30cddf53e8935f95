import { createHash } from 'node:crypto';
import { JetStreamApiError } from '@nats-io/jetstream';
import { SpanKind } from '@opentelemetry/api';
import { copyHtml } from '../files/stored-html.ts';
import { Sessions } from '../captures/sessions.ts';
import { isNotProvisioned } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { getMessage } from '../nats/get-message.ts';
import { retryTransient } from '../nats/retry.ts';
import { backgroundShards, captureDurable, captureSubject, signalSubject, streamNames } from '../nats/streams.ts';
import type { Region } from '../runtime/regions.ts';
import { traceHeaders, withSpan } from '../tracing/spans.ts';
import { type CaptureJob, captureJobVersion, type JobEnvelope, type UnsignedJob } from './job.ts';
import type { Ticket, Tickets } from './tickets.ts';

/** Stream sequence of a job in the queue. */
export interface QueuedJob {
  readonly sequence: number;
}

export interface PublishOptions {
  /** Unix milliseconds by the server's clock; by default ten seconds from now. */
  readonly deadline?: number;
  /** Name of the attempt. The job is queued once for each name. By default, the name is derived from the attempt in the job's ticket. */
  readonly attempt?: string;
  /** Whether to copy stored HTML from the region of the job's source if the region of the job does not have it. */
  readonly copiesHtml?: boolean;
}

const publishTimeoutMs = 10_000;

/** Adds jobs to the queues of captures, and removes them. */
export class Jobs {
  readonly #session: NatsSession;
  readonly #tickets: Tickets;
  readonly #sessions: Sessions;

  constructor(session: NatsSession, tickets: Tickets) {
    this.#session = session;
    this.#tickets = tickets;
    this.#sessions = new Sessions(session);
  }

  /**
   * Queues a capture. A publish that timed out may have been stored; the message id makes a repetition harmless.
   * Throws the server's error, or a timeout at the deadline.
   */
  async publish(job: UnsignedJob, options: PublishOptions = {}): Promise<QueuedJob> {
    const { deadline, attempt = attemptName(job.ticket), copiesHtml } = options;
    const { js } = this.#session;
    const shard = backgroundShardOf(job.account, backgroundShards);
    const id = `${job.uuid}:${job.revision}`;
    const { source } = job;
    // A refresh may run in another region than that for which the HTML was stored.
    if (source.kind === 'stored-html' && (job.revision > 0 || copiesHtml === true)) {
      const { fileName: name, region } = source;
      await copyHtml(this.#session, { name, region }, job.region, job.deadline, this.#session.now());
    }
    const publishBy = deadline ?? this.#session.now() + publishTimeoutMs;
    const subject = captureSubject(job.region, job.priority, shard);
    const publish = () =>
      retryTransient(
        async (timeout) => {
          const signed: CaptureJob = {
            ...job,
            ...(await this.#sessionOf(job)),
            ticket: await this.#tickets.sign(job.ticket),
          };
          const ack = await js.publish(subject, JSON.stringify(signed), {
            msgID: attempt === undefined ? id : `${id}:${attempt}`,
            timeout,
            expect: { streamName: streamNames.captures },
            ...traceHeaders(),
          });
          return { sequence: ack.seq };
        },
        { deadline: publishBy, now: () => this.#session.now(), attemptTimeoutMs: 3000 },
      );
    const queued = await withSpan(
      'send job',
      { kind: SpanKind.PRODUCER, attributes: sendAttributes(subject, job) },
      publish,
    );
    if (job.priority === 'background') sendSignal(this.#session, job.region, { shards: [shard] });
    return queued;
  }

  /** Returns the state of the session of a job: sealed, because only fronts and renderers have the key. */
  async #sessionOf({ account, options }: UnsignedJob): Promise<Pick<CaptureJob, 'session'>> {
    if (options.session === undefined) return {};
    const state = await this.#sessions.stateOf(account, options.session);
    return state === null ? {} : { session: state };
  }

  /** Returns whether a renderer has received the job, or the job is no longer in the queue. Throws the server's error. */
  async isTaken({ region, priority, account }: UnsignedJob, { sequence }: QueuedJob): Promise<boolean> {
    const durable = captureDurable(region, priority, backgroundShardOf(account, backgroundShards));
    try {
      const { delivered } = await this.#session.jsm.consumers.info(streamNames.captures, durable);
      return delivered.stream_seq >= sequence;
    } catch (error) {
      // Without the durable, no renderer can get the job.
      if (isNotProvisioned(error)) return false;
      throw error;
    }
  }

  /** Removes a job from the queue. If a renderer already has the job, it continues. Does not throw if the job is no longer in the queue. */
  async remove(job: QueuedJob): Promise<void> {
    try {
      await this.#session.jsm.streams.deleteMessage(streamNames.captures, job.sequence, false);
    } catch (error) {
      // The server uses one error for all failed deletions.
      if (!(error instanceof JetStreamApiError) || (await this.#isQueued(job))) throw error;
    }
  }

  async #isQueued(job: QueuedJob): Promise<boolean> {
    const { streams } = this.#session.jsm;
    return (await getMessage(streams, streamNames.captures, { seq: job.sequence })) !== null;
  }
}

const sendAttributes = (subject: string, { uuid, region }: UnsignedJob) => ({
  'messaging.system': 'nats',
  'messaging.operation.type': 'send',
  'messaging.operation.name': 'publish',
  'messaging.destination.name': subject,
  'webcapture.capture.id': uuid,
  'webcapture.region': region,
});

const attemptName = ({ attempt }: Ticket) => (attempt === undefined ? undefined : `returned-${attempt}`);

/** Parses a job. If the job has another version, returns only its envelope. Throws if the message is not a job. */
export function parseJob(data: Uint8Array): CaptureJob | (JobEnvelope & { readonly isUnknown: true }) {
  const job = JSON.parse(new TextDecoder().decode(data)) as CaptureJob | null;
  if (typeof job !== 'object' || job === null || typeof job.uuid !== 'string' || typeof job.ticket !== 'string') {
    throw new TypeError('the message is not a capture job');
  }
  return job.version === captureJobVersion ? job : { ...(job as JobEnvelope), isUnknown: true };
}

/**
 * A message to the renderers of a region on `signals.<region>` (core NATS, so it may be lost). A front publishes it when it queues a
 * background capture. The leader of the fleet publishes it every few seconds.
 */
export interface RegionSignal {
  /** Background shards with waiting captures. */
  readonly shards: readonly number[];
  /** Unix milliseconds by the clock of the NATS server. Only the leader sets it. */
  readonly now?: number;
}

/** Publishes a signal to the renderers of a region. Throws if the connection is closed. */
export function sendSignal({ nc }: Pick<NatsSession, 'nc'>, region: Region, signal: RegionSignal): void {
  nc.publish(signalSubject(region), JSON.stringify(signal));
}

/** Returns the background shard of an account. All its background captures wait in this one of the queues. */
export function backgroundShardOf(account: string, shards: number): number {
  return createHash('sha256').update(account).digest().readUInt32BE(0) % shards;
}
