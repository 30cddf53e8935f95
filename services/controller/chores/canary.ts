import { randomUUID } from 'node:crypto';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/state/jobs.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { canaryViewport, newCanary } from './canary-job.ts';

export type CanaryOutcome =
  | { readonly kind: 'completed'; readonly ms: number }
  | { readonly kind: 'failed'; readonly reason: string }
  /** Nobody took it. */
  | { readonly kind: 'untouched' };

export interface CanaryParts {
  readonly session: NatsSession;
  readonly captures: Captures;
  readonly jobs: Jobs;
  readonly store: FileStore;
  readonly log: Logger;
}

const cleanUpMs = 3000;

/**
 * Sends one canary capture through the real queue of a region and removes all traces of it. Null when the signal ended
 * it early. Throws when it could not be queued, or its record not be read: that tells nothing about renderers.
 */
export async function runCanary(
  parts: CanaryParts,
  region: Region,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<CanaryOutcome | null> {
  const { session, captures, jobs } = parts;
  const resultSubject = `results.canary.${randomUUID()}`;
  const { job, record } = newCanary(region, deadlineMs, resultSubject);
  // The announcement only says when to look; the record says how it ended.
  const announced = new AbortController();
  const subscription = session.nc.subscribe(resultSubject, { max: 1, callback: () => announced.abort() });
  const started = performance.now();
  let queued: QueuedJob | null = null;
  try {
    await captures.create(record);
    queued = await jobs.publish(job);
    await delay(deadlineMs - (performance.now() - started), AbortSignal.any([announced.signal, signal]));
    const ms = performance.now() - started;
    const ended = await captures.get(job.account, job.uuid);
    return signal.aborted ? null : judge(ended?.value ?? null, ms);
  } finally {
    subscription.unsubscribe();
    await cleanUp(parts, job, queued);
  }
}

function judge(record: CaptureRecord | null, ms: number): CanaryOutcome {
  switch (record?.status) {
    case 'completed': {
      const { width, height } = record.outcome ?? {};
      const right = width === canaryViewport.width && height === canaryViewport.height;
      return right ? { kind: 'completed', ms } : { kind: 'failed', reason: 'The picture has the wrong size.' };
    }
    case 'failed':
      return { kind: 'failed', reason: record.failure?.message ?? 'It failed without a reason.' };
    case 'queued':
      return { kind: 'untouched' };
    default:
      return { kind: 'failed', reason: `It did not end within ${Math.round(ms / 1000)} s.` };
  }
}

/** What remains when this fails expires, or is found by the sweep of old canaries. */
async function cleanUp(parts: CanaryParts, job: CaptureJob, queued: QueuedJob | null): Promise<void> {
  const removeAll = async () => {
    if (queued !== null) await parts.jobs.remove(queued);
    await parts.store.remove(job.fileName);
    await parts.captures.remove(job.account, job.uuid);
  };
  try {
    await withDeadline(removeAll(), cleanUpMs, 'removing a canary capture');
  } catch (error) {
    parts.log.debug({ err: error }, 'a canary capture could not be removed');
  }
}
