import { mimeTypes } from '@webcapture/shared/contract/formats.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { replySubject } from '@webcapture/shared/nats/streams.ts';
import type { UnsignedJob } from '@webcapture/shared/state/job-of.ts';
import type { Jobs, QueuedJob } from '@webcapture/shared/state/jobs.ts';
import { decodeReply, type JobOutcome } from '@webcapture/shared/state/results.ts';
import { uuidV7 } from '@webcapture/shared/state/uuid.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { UploadRejectedError } from '@webcapture/shared/storage/verify-upload.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { canaryViewport, newCanary } from './canary-job.ts';

export type CanaryOutcome =
  | { readonly kind: 'completed'; readonly ms: number }
  | { readonly kind: 'failed'; readonly reason: string }
  /** Nobody took it. */
  | { readonly kind: 'untouched' };

export interface CanaryParts {
  readonly session: NatsSession;
  readonly jobs: Jobs;
  readonly store: FileStore;
  readonly log: Logger;
}

const cleanUpTimeoutMs = 3000;
const maxFileDelayMs = 2000;

/**
 * Sends one canary capture through the real queue of a region, looks at the file that came of it, and removes all traces.
 * Null when the signal ended it early. Throws when it could not be queued, or the file not be looked at: that tells
 * nothing about renderers.
 */
export async function runCanary(
  parts: CanaryParts,
  region: Region,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<CanaryOutcome | null> {
  const { session, jobs } = parts;
  const uuid = uuidV7(session.now());
  const subject = replySubject(region, 'canary', uuid);
  const job = newCanary(region, { deadlineMs, now: session.now(), replySubject: subject }, uuid);
  const replied = new AbortController();
  let outcome: JobOutcome | null = null;
  const subscription = session.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null) return;
      outcome = decodeReply(message.data)?.result.outcome ?? null;
      if (outcome !== null) replied.abort();
    },
  });
  const started = performance.now();
  let queued: QueuedJob | null = null;
  try {
    queued = await jobs.publish(job);
    await delay(deadlineMs - (performance.now() - started), AbortSignal.any([replied.signal, signal]));
    const ms = performance.now() - started;
    if (signal.aborted) return null;
    if (outcome === null) return (await jobs.isTaken(job, queued)) ? lateAfter(ms) : { kind: 'untouched' };
    return await judge(parts, job, outcome, ms);
  } finally {
    subscription.unsubscribe();
    await cleanUp(parts, job, queued);
  }
}

async function judge(
  { store }: CanaryParts,
  job: UnsignedJob,
  outcome: JobOutcome,
  ms: number,
): Promise<CanaryOutcome> {
  if (outcome.kind === 'failed') return { kind: 'failed', reason: outcome.message };
  if (outcome.kind !== 'completed') return { kind: 'untouched' };
  const { object } = job.file;
  const wanted = { name: object, object, account: job.account, region: job.region, isRefresh: false };
  const { upload } = outcome;
  const expected = { ...wanted, contentType: mimeTypes[job.options.format], expiresAt: upload.expiresAt };
  const waitUntil = performance.now() + maxFileDelayMs;
  // The reply may be quicker than the file.
  const accept = async (): ReturnType<FileStore['accept']> => {
    try {
      return await store.accept(upload, expected);
    } catch (error) {
      const isEarly = error instanceof UploadRejectedError && error.reason === 'missing';
      if (!isEarly || performance.now() > waitUntil) throw error;
      await delay(50);
      return accept();
    }
  };
  try {
    const { file } = await accept();
    const isRight = file.width === canaryViewport.width && file.height === canaryViewport.height;
    return isRight ? { kind: 'completed', ms } : { kind: 'failed', reason: 'The picture has the wrong size.' };
  } catch (error) {
    if (!(error instanceof UploadRejectedError)) throw error;
    return { kind: 'failed', reason: 'The file is not what was asked for.' };
  }
}

const lateAfter = (ms: number): CanaryOutcome => ({
  kind: 'failed',
  reason: `It did not end within ${Math.round(ms / 1000)} s.`,
});

/** What remains when this fails expires, or is found as an orphan. */
async function cleanUp({ jobs, store, log }: CanaryParts, job: UnsignedJob, queued: QueuedJob | null): Promise<void> {
  const removeAll = async () => {
    if (queued !== null) await jobs.remove(queued);
    await store.remove(job.file.object);
  };
  try {
    await withDeadline(removeAll(), cleanUpTimeoutMs, 'removing a canary capture');
  } catch (error) {
    log.debug({ err: error }, 'a canary capture could not be removed');
  }
}
