import { Readable } from 'node:stream';
import { mimeTypes, type Format } from '@webcapture/shared/contract/formats.ts';
import type { ByteRange, FileStore, StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { FastifyReply } from 'fastify';

/** A client that takes no byte for so long is given up, so that it does not hold memory for ever. */
const stalledMs = 60_000;

/** What a browser may do with a file that came from a foreign page: show it, nothing more. */
export const fileHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
} as const;

/** `capture-<uuid>.<format>`: the random part of the file's name is nobody's business on a disk. */
export function downloadName(uuid: string, format: Format): string {
  return `capture-${uuid}.${format}`;
}

export function formatOf(mimeType: StoredFile['contentType']): Format {
  const found = Object.entries(mimeTypes).find(([, type]) => type === mimeType);
  return (found?.[0] ?? 'png') as Format;
}

/**
 * The bytes of a file as a body, read as fast as the client takes them. The first part is awaited here, so that a store
 * that fails can still be answered with an error.
 *
 * @throws ServiceError STORAGE_FAILED
 */
export async function fileBody(store: FileStore, file: StoredFile, range?: ByteRange): Promise<Readable> {
  const parts = store.read(file, range)[Symbol.asyncIterator]();
  const first = await parts.next();
  async function* all() {
    try {
      for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
    } finally {
      await parts.return?.();
    }
  }
  return Readable.from(all(), { objectMode: true, highWaterMark: 1 });
}

/** Closes the connection when the client stops reading. */
export function giveUpWhenStalled({ raw }: FastifyReply): void {
  raw.setTimeout(stalledMs, () => raw.destroy());
}
