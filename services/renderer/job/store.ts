import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureOutcome } from '@webcapture/shared/contract/capture-record.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Rendering } from '../capture/engine.ts';
import { outcomeOf } from './outcome-of.ts';

/**
 * Stores what was rendered and tells what the record must say. When a renderer that died had stored the file already,
 * that file stands, and the record tells of it.
 *
 * @param capture `cacheSeconds` as in StoredFile: for a file that may be replaced; `deadline` as in NewFile
 */
export async function storeRendering(
  rendering: Rendering,
  capture: { job: CaptureJob; lifetimeMs: number; queueMs: number; deadline?: number; cacheSeconds?: number },
  store: FileStore,
): Promise<{ outcome: CaptureOutcome; expiresAt: number }> {
  const { job, lifetimeMs, queueMs, deadline, cacheSeconds } = capture;
  const start = performance.now();
  const capturedAt = Date.now();
  const stored = await store.create({
    name: job.fileName,
    account: job.account,
    bytes: rendering.bytes,
    contentType: rendering.mimeType,
    expiresAt: capturedAt + lifetimeMs,
    width: rendering.width,
    height: rendering.height,
    ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
    ...(deadline === undefined ? {} : { deadline }),
  });
  const storeMs = performance.now() - start;
  const outcome = outcomeOf(rendering, stored, { region: job.region, queueMs, capturedAt, storeMs });
  return { outcome, expiresAt: stored.expiresAt };
}
