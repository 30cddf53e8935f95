import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureOutcome } from '@webcapture/shared/contract/capture-record.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { Rendering } from '../capture/engine.ts';

/**
 * Stores what was rendered and tells what the record must say. When a renderer that died had stored the file already,
 * that file stands, and the record tells of it.
 */
export async function storeRendering(
  rendering: Rendering,
  capture: { job: CaptureJob; lifetimeMs: number; queueMs: number },
  store: FileStore,
): Promise<{ outcome: CaptureOutcome; expiresAt: number }> {
  const { job, lifetimeMs, queueMs } = capture;
  const start = performance.now();
  const capturedAt = Date.now();
  const stored = await store.create({
    name: job.fileName,
    bytes: rendering.bytes,
    contentType: rendering.mimeType,
    expiresAt: capturedAt + lifetimeMs,
    width: rendering.width,
    height: rendering.height,
  });
  const { navigateMs, settleMs, shootMs } = rendering.report.timings;
  return {
    expiresAt: stored.expiresAt,
    outcome: {
      region: job.region,
      mimeType: stored.contentType,
      fileSizeBytes: stored.size,
      width: stored.width,
      height: stored.height,
      capturedAt,
      report: {
        ...rendering.report,
        timings: {
          queueMs,
          navigateMs: Math.round(navigateMs),
          settleMs: Math.round(settleMs),
          shootMs: Math.round(shootMs),
          storeMs: Math.round(performance.now() - start),
        },
      },
    },
  };
}
