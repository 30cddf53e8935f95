import { Readable } from 'node:stream';
import type { ByteRange, FileStore, StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { FastifyReply } from 'fastify';

/** A client that takes no byte for so long is given up, so that it does not hold memory for ever. */
const stalledMs = 60_000;

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
  raw.setTimeout(stalledMs, () => raw.destroy());
}
