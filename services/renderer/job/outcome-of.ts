import type { CaptureOutcome } from '@webcapture/shared/contract/capture-record.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { Rendering } from '../capture/engine.ts';

/** What a record tells of a rendering and of the file that it is kept in. Times in milliseconds. */
export function outcomeOf(
  rendering: Rendering,
  stored: StoredFile,
  capture: { region: Region; queueMs: number; capturedAt: number; storeMs: number },
): CaptureOutcome {
  const { navigateMs, settleMs, shootMs } = rendering.report.timings;
  return {
    region: capture.region,
    mimeType: stored.contentType,
    fileSizeBytes: stored.size,
    width: stored.width,
    height: stored.height,
    capturedAt: capture.capturedAt,
    report: {
      ...rendering.report,
      timings: {
        queueMs: capture.queueMs,
        navigateMs: Math.round(navigateMs),
        settleMs: Math.round(settleMs),
        shootMs: Math.round(shootMs),
        storeMs: Math.round(capture.storeMs),
      },
    },
  };
}
