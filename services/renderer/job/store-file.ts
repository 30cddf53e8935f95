import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Rendering } from '../capture/engine.ts';
import { replaceRendering } from './replace-rendering.ts';
import { storeRendering } from './store.ts';

/** How long caches keep a copy of a file that may be replaced before they ask again. */
const replaceableCacheSeconds = 300;

/** Stores the file of a capture, or of a refresh in its place: then it is kept for no longer than it was to be. */
export function storeFile(
  rendering: Rendering,
  { job, record, queueMs, deadline }: { job: CaptureJob; record: CaptureRecord; queueMs: number; deadline: number },
  store: FileStore,
): Promise<{ outcome: CaptureOutcome; expiresAt: number }> {
  if (job.revision > 0) {
    const { expiresAt } = record;
    return replaceRendering(
      rendering,
      { job, expiresAt, queueMs, deadline, cacheSeconds: replaceableCacheSeconds },
      store,
    );
  }
  const { lifetimeMs, persistence } = record;
  const cache = persistence === undefined ? {} : { cacheSeconds: replaceableCacheSeconds };
  return storeRendering(rendering, { job, lifetimeMs, queueMs, deadline, ...cache }, store);
}
