import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { extensions } from '@webcapture/shared/api/formats.ts';
import type { BatchSummary } from '@webcapture/shared/api/batch.ts';
import type { BatchItem } from '@webcapture/shared/captures/batch-state.ts';
import { type FileStore, retryIfReplaced } from '@webcapture/shared/files/file-store.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import { ZipFile } from 'yazl';
import { fileBody } from '../api/send-file.ts';

/** A capture in `manifest.json`. */
interface ManifestEntry {
  /** Index of its request. */
  readonly index: number;
  readonly uuid: string;
  readonly url: string | null;
  readonly status: BatchItem['status'];
  /** Name in the archive; null if the archive has no file of the capture. */
  readonly file: string | null;
  /** Why the archive has no file of the capture: the capture has failed, or its file could not be read. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface ZipDeps {
  readonly store: FileStore;
  /** Aborts when the client has disconnected. */
  readonly clientGone: AbortSignal;
}

/**
 * Returns a zip archive with the files of a batch and `manifest.json`, which lists all captures. Files are stored without further
 * compression, and are read one after another at the speed of the client.
 */
export function zipOf(summary: BatchSummary, items: readonly BatchItem[], deps: ZipDeps): Readable {
  const zip = new ZipFile();
  const output = new PassThrough();
  zip.outputStream.pipe(output);
  zip.on('error', (error) => output.destroy(error as Error));
  addAll(zip, summary, items, deps).catch((error: unknown) => output.destroy(toServiceError(error)));
  return output;
}

async function addAll(zip: ZipFile, batch: BatchSummary, items: readonly BatchItem[], deps: ZipDeps): Promise<void> {
  const captures: ManifestEntry[] = [];
  for (const [index, item] of items.entries()) {
    deps.clientGone.throwIfAborted();
    captures.push(await addFile(zip, index, item, deps));
  }
  zip.addBuffer(Buffer.from(`${JSON.stringify({ ...batch, captures }, null, 2)}\n`), 'manifest.json', {
    compress: false,
  });
  zip.end();
}

async function addFile(
  zip: ZipFile,
  index: number,
  { uuid, status, capture, failure }: BatchItem,
  { store, clientGone }: ZipDeps,
): Promise<ManifestEntry> {
  const entry = { index, uuid, url: capture?.url ?? null, status };
  const without = (error?: { readonly code: string; readonly message: string }) => ({
    ...entry,
    file: null,
    error: error === undefined ? null : { code: error.code, message: error.message },
  });
  if (capture === undefined || status !== 'completed') return without(failure);
  const name = `${String(index).padStart(4, '0')}-${uuid}.${extensions[capture.format]}`;
  let body: Readable;
  try {
    body = await retryIfReplaced(async () => {
      const file = await store.stat(capture.fileName);
      if (file === null) throw new ServiceError('STORAGE_FAILED', 'The file no longer exists.');
      return fileBody(store, file);
    });
  } catch (error) {
    if (error instanceof ServiceError) return without(error);
    throw error;
  }
  zip.addReadStream(body, name, { compress: false, mtime: new Date(capture.endedAt ?? 0) });
  try {
    await finished(body, { signal: clientGone });
  } finally {
    body.destroy();
  }
  return { ...entry, file: name, error: null };
}
