import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureFailure, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import { Tasks } from '@webcapture/shared/state/tasks.ts';
import { failureOf, isOpen } from '@webcapture/shared/state/transitions.ts';
import { encodeResult } from '@webcapture/shared/state/results.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { ControllerMetrics, SettleReason } from '../apply/metrics.ts';

/** As much of a job as ending its capture takes: also of a job of another version. */
export type SettledJob = Pick<CaptureJob, 'account' | 'uuid' | 'revision' | 'resultSubject'>;

export interface Settlement {
  readonly reason: SettleReason;
  readonly failure: CaptureFailure;
  /** Only if nobody has begun to render it. */
  readonly unlessBegun: boolean;
}

/** Ends captures that no renderer will end. May be repeated at will. */
export class Settler {
  readonly #session: NatsSession;
  readonly #captures: Captures;
  readonly #followUps: FollowUps;
  readonly #metrics: ControllerMetrics;
  readonly #log: Logger;

  constructor(session: NatsSession, captures: Captures, metrics: ControllerMetrics, log: Logger) {
    this.#session = session;
    this.#captures = captures;
    this.#followUps = new FollowUps(new Tasks(session));
    this.#metrics = metrics;
    this.#log = log;
  }

  /**
   * Ends the capture as failed unless it has ended already, and announces how it stands. The compare-and-set on the
   * record decides between this and a renderer that is at it. False when it is left open, because it has been begun.
   */
  async settle(job: SettledJob, { reason, failure, unlessBegun }: Settlement): Promise<boolean> {
    const before = await this.#captures.get(job.account, job.uuid);
    if (before === null) return true;
    const end = () => (unlessBegun ? this.#captures.cancelQueued(job, failure) : this.#captures.fail(job, failure));
    const wasOpen = isOpen(before.value, job.revision);
    const record = wasOpen ? await end() : before.value;
    if (record === null) return true;
    if (isOpen(record, job.revision)) return false;
    await this.#followUps.arrange(record);
    if (wasOpen && failureOf(record, job.revision)?.message === failure.message) {
      this.#metrics.settled(reason);
      this.#log.warn(
        { uuid: job.uuid, account: job.account, region: record.region, reason },
        'settled a capture as failed',
      );
    }
    this.#announce(job, record);
    return true;
  }

  /** Sees to what follows the end of a capture: whoever ended it may have died before it could. */
  async follow(record: CaptureRecord): Promise<void> {
    await this.#followUps.arrange(record);
  }

  #announce(job: SettledJob, record: CaptureRecord): void {
    if (job.resultSubject === undefined) return;
    const limit = this.#session.nc.info?.max_payload ?? 0;
    this.#session.nc.publish(job.resultSubject, encodeResult(record, null, limit));
  }
}
