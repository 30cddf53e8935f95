import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { downloadName } from '@webcapture/shared/storage/download-name.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import type { FastifyReply } from 'fastify';
import { fileBody, fileHeaders, giveUpWhenStalled } from './send-file.ts';

/**
 * Answers a capture with its file: the bytes that came along with the announcement, else out of the store.
 *
 * @throws ServiceError STORAGE_FAILED
 */
export async function sendCapture(
  reply: FastifyReply,
  { record, outcome, bytes }: { record: CaptureRecord; outcome: CaptureOutcome; bytes: Buffer | null },
  store: FileStore,
): Promise<FastifyReply> {
  // Two renderers may have finished it; the file is that of the first, and the record tells its size.
  const isIt = bytes?.length === outcome.fileSizeBytes;
  const { body, size } = isIt ? { body: bytes, size: bytes.length } : await readFile(record.fileName, store);
  giveUpWhenStalled(reply);
  return reply
    .headers({
      ...fileHeaders,
      'content-type': outcome.mimeType,
      'content-length': size,
      'content-disposition': `inline; filename="${downloadName(record.uuid, record.options.format)}"`,
      'cache-control': 'no-store',
    })
    .send(body);
}

async function readFile(name: string, store: FileStore) {
  const file = await store.stat(name);
  if (file === null) throw new ServiceError('STORAGE_FAILED', 'The file of the capture is no longer there.');
  return { body: await fileBody(store, file), size: file.size };
}
