import { Readable } from 'node:stream';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { downloadName } from '@webcapture/shared/files/file-name.ts';
import type { ByteRange, FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import type { FastifyReply } from 'fastify';
import type { CaptureFile } from '../capture/answer.ts';

/** A client that takes no byte for so long is given up, so that it does not hold memory for ever. */
const stallTimeoutMs = 60_000;

/** What a browser may do with a file that came from a foreign page: show it, nothing more. */
export const fileHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
} as const;

/**
 * The bytes of a file as a body, read as fast as the client takes them. The first part is awaited here, so that a store
 * that fails can still be answered with an error.
 *
 * @throws ServiceError STORAGE_FAILED
 */
export async function fileBody(store: Pick<FileStore, 'read'>, file: StoredFile, range?: ByteRange): Promise<Readable> {
  const parts = store.read(file, range)[Symbol.asyncIterator]();
  const first = await parts.next();
  async function* all() {
    for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
  }
  const body = Readable.from(all(), { objectMode: true, highWaterMark: 1 });
  // Also when the client is gone before the first part is asked for: then the function above never begins.
  body.once('close', () => void parts.return?.().catch(() => undefined));
  return body;
}

/** Closes the connection when the client stops reading. */
export function giveUpWhenStalled({ raw }: FastifyReply): void {
  raw.setTimeout(stallTimeoutMs, () => raw.destroy());
}

/**
 * Answers a capture with its file: the bytes that came along with the result, else out of the store.
 *
 * @throws ServiceError STORAGE_FAILED
 */
export async function sendCapture(
  reply: FastifyReply,
  { record, outcome, bytes }: CaptureFile,
  store: Pick<FileStore, 'stat' | 'read'>,
): Promise<FastifyReply> {
  const { body, size } = bytes === null ? await readFile(record.fileName, store) : { body: bytes, size: bytes.length };
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

async function readFile(name: string, store: Pick<FileStore, 'stat' | 'read'>) {
  const file = await store.stat(name);
  if (file === null) throw new ServiceError('STORAGE_FAILED', 'The file of the capture is no longer there.');
  return { body: await fileBody(store, file), size: file.size };
}
