import type { JobReply } from '@webcapture/shared/queue/job.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import type { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { encodeReply, type RenderFailure } from '@webcapture/shared/queue/results.ts';
import { cancelQueued, fail, isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerMetrics, SettleReason } from '../health/metrics.ts';

/** As much of a job as ending its capture takes: also of a job of another version. */
export interface SettledJob {
  readonly account: string;
  readonly uuid: string;
  readonly revision: number;
  /** An interactive capture as it was accepted. */
  readonly draft?: CaptureRecord;
  /** As it stands in the job: signed. */
  readonly ticket?: string;
  readonly reply?: JobReply;
}

export interface Settlement {
  readonly reason: SettleReason;
  readonly failure: CaptureFailure & { readonly code: RenderFailure };
  /** Only if nobody has begun to render it. */
  readonly unlessBegun: boolean;
}

/** Ends captures that no renderer will end. May be repeated at will. */
export class Settler {
  readonly #session: NatsSession;
  readonly #captures: Pick<Captures, 'end'>;
  readonly #followUps: Pick<FollowUps, 'arrange'>;
  readonly #metrics: ControllerMetrics;
  readonly #log: Logger;

  constructor(
    session: NatsSession,
    deps: {
      readonly captures: Pick<Captures, 'end'>;
      readonly followUps: Pick<FollowUps, 'arrange'>;
      readonly metrics: ControllerMetrics;
      readonly log: Logger;
    },
  ) {
    this.#session = session;
    this.#captures = deps.captures;
    this.#followUps = deps.followUps;
    this.#metrics = deps.metrics;
    this.#log = deps.log;
  }

  /**
   * Ends the capture as failed unless it has ended already, and publishes that to whoever waits. The compare-and-set on the record
   * decides between this and a result that is being settled. False when it is left open, because it has been begun.
   */
  async settle(job: SettledJob, { reason, failure, unlessBegun }: Settlement): Promise<boolean> {
    const end = unlessBegun ? cancelQueued : fail;
    const { record, changed } = await this.#captures.end(job, end(job.revision, failure));
    if (record === null) return true;
    if (isOpen(record, job.revision)) return false;
    await this.#followUps.arrange(record);
    if (changed) {
      this.#metrics.settled(reason);
      this.#log.warn(
        { uuid: job.uuid, account: job.account, region: record.region, reason },
        'settled a capture as failed',
      );
    }
    this.#publishReply(job, failure);
    return true;
  }

  /** Sees to what follows the end of a capture: whoever ended it may have died before it could. */
  async follow(record: CaptureRecord): Promise<void> {
    await this.#followUps.arrange(record);
  }

  /** A front that waits reads the record then. */
  #publishReply({ ticket, reply }: SettledJob, { code, message }: Settlement['failure']): void {
    if (ticket === undefined || reply === undefined || reply.wants === 'start') return;
    const outcome = { kind: 'failed', code, message } as const;
    const result = { ticket, pod: 'controller', delivery: 1, elapsedMs: 0, outcome };
    this.#session.nc.publish(reply.subject, encodeReply(result, null, Number.POSITIVE_INFINITY));
  }
}
