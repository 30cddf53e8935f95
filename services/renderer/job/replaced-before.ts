import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';

/**
 * What the file of a refresh shows, if an earlier delivery of its job, which died, has put the new one in place: then the
 * refresh is done, whatever becomes of rendering it again. The report is that of the file before. Else null.
 */
export async function replacedBefore(
  { revision, fileName, region, acceptedAt }: CaptureJob,
  { outcome }: CaptureRecord,
  store: Pick<FileStore, 'stat'>,
): Promise<{ readonly outcome: CaptureOutcome; readonly expiresAt: number } | null> {
  if (revision === 0 || outcome === undefined) return null;
  const stored = await store.stat(fileName);
  if (stored === null || stored.storedAt < acceptedAt) return null;
  const { contentType: mimeType, size: fileSizeBytes, width, height, storedAt: capturedAt, expiresAt } = stored;
  return { outcome: { ...outcome, region, mimeType, fileSizeBytes, width, height, capturedAt }, expiresAt };
}
