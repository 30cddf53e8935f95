import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import { heartbeatIntervalMs } from '@webcapture/shared/queue/heartbeat.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { StandInRenderer as JobTaker } from '../../../harness/stand-in-renderer.ts';

/** A renderer that starts immediately, even without a server, and keeps sending heartbeats. */
export class StandInRenderer extends JobTaker {
  /** In milliseconds of the monotonic clock. */
  lastBeatAt = 0;

  constructor(session: NatsSession, region: Region, pod: string) {
    super(session, region, pod);
    void this.start();
  }

  /** The call never rejects, because the bucket may not exist. */
  override async say(words: Partial<RendererHeartbeat> = {}): Promise<void> {
    this.lastBeatAt = performance.now();
    await withDeadline(super.say(words), heartbeatIntervalMs, 'a heartbeat').catch(() => undefined);
  }
}

/** Fails every job. */
export const failing = (job: CaptureJob, renderer: JobTaker) =>
  renderer.fail(job, 'CAPTURE_FAILED', 'The browser is unwell.');
