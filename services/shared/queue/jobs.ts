import { createHash } from 'node:crypto';
import { JetStreamApiError } from '@nats-io/jetstream';
import { SpanKind } from '@opentelemetry/api';
import { copyHtml } from '../files/stored-html.ts';
import { isNotProvisioned } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { getMessage } from '../nats/get-message.ts';
import { retryTransient } from '../nats/retry.ts';
import { backgroundShards, captureDurable, captureSubject, signalSubject, streamNames } from '../nats/streams.ts';
import type { Region } from '../runtime/regions.ts';
import { traceHeaders, withSpan } from '../tracing/spans.ts';
import { type CaptureJob, captureJobVersion, type JobEnvelope, type UnsignedJob } from './job.ts';
import type { Ticket, Tickets } from './tickets.ts';

/** Where a published job lies. */
export interface QueuedJob {
  readonly sequence: number;
}

export interface PublishOptions {
  /** Unix milliseconds by the server's clock; by default ten seconds from now. */
  readonly deadline?: number;
  /**
   * Name of this time that the job is queued, for a job that was queued before; by default by the attempt of its ticket. The job is
   * queued once under each name.
   */
  readonly attempt?: string;
  /** Checks that stored html is there for the region of the job, and copies it from the region of its source otherwise. */
  readonly copiesHtml?: boolean;
}

const publishTimeoutMs = 10_000;

/** The queue of captures, from the side that fills it. */
export class Jobs {
  readonly #session: NatsSession;
  readonly #tickets: Pick<Tickets, 'sign'>;

  constructor(session: NatsSession, tickets: Pick<Tickets, 'sign'>) {
    this.#session = session;
    this.#tickets = tickets;
  }

  /**
   * Queues a capture. A publish that timed out may have landed; the message id makes sending it again harmless.
   * Throws the server's error, or a timeout at the deadline.
   */
  async publish(job: UnsignedJob, options: PublishOptions = {}): Promise<QueuedJob> {
    const { deadline, attempt = attemptName(job.ticket), copiesHtml } = options;
    const { js } = this.#session;
    const shard = backgroundShardOf(job.account, backgroundShards);
    const id = `${job.uuid}:${job.revision}`;
    const { source } = job;
    // A refresh may go to another region than the one whose renderers it was put for.
    if (source.kind === 'stored-html' && (job.revision > 0 || copiesHtml === true)) {
      const { fileName: name, region } = source;
      await copyHtml(this.#session, { name, region }, job.region, job.deadline, this.#session.now());
    }
    const publishBy = deadline ?? this.#session.now() + publishTimeoutMs;
    const subject = captureSubject(job.region, job.priority, shard);
    const publish = () =>
      retryTransient(
        async (timeout) => {
          const signed: CaptureJob = { ...job, ticket: await this.#tickets.sign(job.ticket) };
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

  /** Whether a renderer was given the job, or it is gone. Throws what the server answers. */
  async isTaken({ region, priority, account }: UnsignedJob, { sequence }: QueuedJob): Promise<boolean> {
    const durable = captureDurable(region, priority, backgroundShardOf(account, backgroundShards));
    try {
      const { delivered } = await this.#session.jsm.consumers.info(streamNames.captures, durable);
      return delivered.stream_seq >= sequence;
    } catch (error) {
      // The durable does not exist, so no renderer can get the job.
      if (isNotProvisioned(error)) return false;
      throw error;
    }
  }

  /**
   * Takes a job out of the queue; one that a renderer holds already is not stopped by it, and one that is gone is no
   * error.
   */
  async remove(job: QueuedJob): Promise<void> {
    try {
      await this.#session.jsm.streams.deleteMessage(streamNames.captures, job.sequence, false);
    } catch (error) {
      // The server has one error for every deletion that did not work.
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

/**
 * A job out of a message, or of one of another version what all versions have. Throws when it is no job at all.
 */
export function parseJob(data: Uint8Array): CaptureJob | (JobEnvelope & { readonly isUnknown: true }) {
  const job = JSON.parse(new TextDecoder().decode(data)) as CaptureJob | null;
  if (typeof job !== 'object' || job === null || typeof job.uuid !== 'string' || typeof job.ticket !== 'string') {
    throw new TypeError('the message is not a capture job');
  }
  return job.version === captureJobVersion ? job : { ...(job as JobEnvelope), isUnknown: true };
}

/**
 * A message to the renderers of a region on `signals.<region>` (core NATS, so it may get lost). A front publishes it
 * when it queues a background capture, and the fleet's leader every few seconds.
 */
export interface RegionSignal {
  /** Background shards with waiting captures. */
  readonly shards: readonly number[];
  /** Unix milliseconds by the clock of the NATS server, from the leader alone. */
  readonly now?: number;
}

/** Signals to the renderers of a region; core NATS. Throws when the connection is closed. */
export function sendSignal({ nc }: Pick<NatsSession, 'nc'>, region: Region, signal: RegionSignal): void {
  nc.publish(signalSubject(region), JSON.stringify(signal));
}

/** The background shard of an account: its captures wait in one of `shards` queues. */
export function backgroundShardOf(account: string, shards: number): number {
  return createHash('sha256').update(account).digest().readUInt32BE(0) % shards;
}
