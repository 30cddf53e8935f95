import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Cache } from '@webcapture/shared/state/cache.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/** A cache that is slow or away delays an answer by no more than this. */
const limitMs = 1000;

/**
 * Puts a capture that has completed where equal requests find it, or gives its claim up when it failed. Never throws:
 * those who follow the capture learn of its end from the record as well, a little later.
 */
export async function settleCache(
  { account, uuid, cache: place }: CaptureJob,
  record: CaptureRecord,
  cache: Pick<Cache, 'fill' | 'release'>,
  log: Logger,
): Promise<void> {
  if (place === undefined) return;
  try {
    const settling =
      record.status === 'completed' ? cache.fill(account, place, record) : cache.release(account, place.name, uuid);
    await withDeadline(settling, limitMs, 'settling the cache');
  } catch (error) {
    log.warn({ err: error, uuid }, 'the cache could not be told how a capture ended');
  }
}
