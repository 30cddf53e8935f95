import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { Cache } from '@webcapture/shared/state/cache.ts';
import type { Captures } from '@webcapture/shared/state/captures.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';

/** A cache that is slow or away delays an answer by no more than this. */
const limitMs = 1000;

export interface SettleCacheDeps {
  readonly cache: Pick<Cache, 'fill' | 'release' | 'drop'>;
  readonly captures: Pick<Captures, 'get'>;
}

/**
 * Puts a capture that has completed where equal requests find it, or gives its claim up when it failed. Never throws:
 * those who follow the capture learn of its end from the record as well, a little later.
 */
export async function settleCache(
  { account, uuid, cache: place }: CaptureJob,
  record: CaptureRecord,
  { cache, captures }: SettleCacheDeps,
  log: Logger,
): Promise<void> {
  if (place === undefined) return;
  const settle = async () => {
    if (record.status !== 'completed') {
      await cache.release(account, place.name, uuid);
      return;
    }
    await cache.fill(account, place, record);
    // Deleted since: whoever did so found no entry to remove.
    const now = (await captures.get(account, uuid))?.value;
    if (now?.status !== 'completed') await cache.drop(account, place.name, uuid);
  };
  try {
    await withDeadline(settle(), limitMs, 'settling the cache');
  } catch (error) {
    log.warn({ err: error, uuid }, 'the cache could not be told how a capture ended');
  }
}
