import type { CaptureRecord, EarlierFile } from '@webcapture/shared/captures/capture-record.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { Ticket } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/**
 * Copies the file that a refresh is about to replace, if it is to be kept. A repeated settlement finds the copy, so it does not copy the
 * new file.
 *
 * @param deadline Unix milliseconds by the server's clock
 */
export async function keepEarlierFile(
  { account, region, revision }: Ticket,
  { fileName, outcome, refresh }: CaptureRecord,
  deadline: number,
  { store }: { readonly store: Pick<FileStore, 'copy'> },
): Promise<EarlierFile | undefined> {
  const name = refresh?.earlierName;
  if (outcome === undefined || name === undefined) return undefined;
  const file = await store.copy(fileName, { name, account, region }, { deadline });
  if (file === null) return undefined;
  const { size: fileSizeBytes, width, height } = file;
  return { name, replacedBy: revision, fileSizeBytes, width, height, capturedAt: outcome.capturedAt };
}

/**
 * Removes the earlier files that the record does not contain any more after a refresh has ended. If this fails, they expire with the
 * file.
 */
export async function removeEarlierFiles(
  { uuid, revision }: Ticket,
  { before, after }: { readonly before: CaptureRecord | null; readonly after: CaptureRecord | null },
  { store, log }: { readonly store: Pick<FileStore, 'remove'>; readonly log: Logger },
): Promise<void> {
  if (before === null || after === null || isOpen(after, revision)) return;
  const { refresh, earlierFiles = [] } = before;
  const ofRefresh = refresh?.revision === revision ? refresh.earlierName : undefined;
  const former = [...earlierFiles.map(({ name }) => name), ...(ofRefresh === undefined ? [] : [ofRefresh])];
  const kept = new Set(after.earlierFiles?.map(({ name }) => name));
  try {
    await Promise.all(former.filter((name) => !kept.has(name)).map((name) => store.remove(name)));
  } catch (error) {
    log.debug({ err: error, uuid }, 'earlier files that belong to no capture could not be removed');
  }
}
