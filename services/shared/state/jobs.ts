import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { captureJobVersion, type CaptureJob } from '../contract/capture-job.ts';
import { delay } from '../lifecycle/delay.ts';
import { isMessageMissing } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { backgroundShards, captureSubject, streamNames } from '../nats/streams.ts';
import { backgroundShardOf } from './captures.ts';

/** Where a published job lies. */
export interface QueuedJob {
  readonly sequence: number;
}

/** The queue of captures, from the side that fills it. */
export class Jobs {
  readonly #session: NatsSession;

  constructor(session: NatsSession) {
    this.#session = session;
  }

  /**
   * Queues a capture. A publish that timed out may have landed; the message id makes sending it again harmless.
   * Throws the server's error, or a timeout after three tries.
   */
  async publish(job: CaptureJob): Promise<QueuedJob> {
    const shard = backgroundShardOf(job.account, backgroundShards);
    const subject = captureSubject(job.region, job.lane, shard);
    const body = JSON.stringify(job);
    for (let attempt = 1; ; attempt++) {
      try {
        const ack = await this.#session.js.publish(subject, body, {
          msgID: `${job.uuid}:${job.revision}`,
          timeout: 3000,
          expect: { streamName: streamNames.captures },
        });
        return { sequence: ack.seq };
      } catch (error) {
        if (!(error instanceof TimeoutError) || attempt >= 3) throw error;
        await delay(100 * attempt);
      }
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
    try {
      return (await this.#session.jsm.streams.getMessage(streamNames.captures, { seq: job.sequence })) !== null;
    } catch (error) {
      if (isMessageMissing(error)) return false;
      throw error;
    }
  }
}

/** A job out of a message; null when it is of a version that this process does not know. Throws when it is no job. */
export function parseJob(data: Uint8Array): CaptureJob | null {
  const job = JSON.parse(new TextDecoder().decode(data)) as CaptureJob | null;
  if (typeof job !== 'object' || job === null || typeof job.uuid !== 'string') throw new TypeError('not a capture job');
  return job.version === captureJobVersion ? job : null;
}
