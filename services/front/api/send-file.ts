import { Readable } from 'node:stream';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { cacheControl, contentDisposition, downloadName } from '@webcapture/shared/files/file-name.ts';
import type { ByteRange, FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CaptureFile } from '../capture/answer.ts';

/** A client that reads nothing for this time is disconnected, to free the memory of its response. */
const stallTimeoutMs = 60_000;

/** Restricts what a browser may do with a file: it may only show the file, because a foreign page may have made it. */
export const containment = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
} as const;

/**
 * Returns a file as a response body that is read as fast as the client accepts it. Waits for the first part, so that a
 * failure of the store can still be answered with an error.
 *
 * @throws ServiceError STORAGE_FAILED
 */
export async function fileBody(store: FileStore, file: StoredFile, range?: ByteRange): Promise<Readable> {
  const parts = store.read(file, range)[Symbol.asyncIterator]();
  const first = await parts.next();
  async function* all() {
    for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
  }
  const body = Readable.from(all(), { objectMode: true, highWaterMark: 1 });
  // `close` also occurs if the client disconnects before the first read. The generator never starts then and cannot clean up.
  body.once('close', () => void parts.return?.().catch(() => undefined));
  return body;
}

/** Closes the connection when the client stops reading. */
export function disconnectWhenStalled({ raw }: FastifyReply): void {
  raw.setTimeout(stallTimeoutMs, () => raw.destroy());
}

/**
 * Answers a capture with its file. Uses the bytes that came with the result, or reads them from the store.
 *
 * @throws ServiceError STORAGE_FAILED
 */
export async function sendCapture(
  reply: FastifyReply,
  { record, outcome, bytes }: CaptureFile,
  store: FileStore,
): Promise<FastifyReply> {
  const { body, size } = bytes === null ? await readFile(record.fileName, store) : { body: bytes, size: bytes.length };
  disconnectWhenStalled(reply);
  return reply
    .headers({
      ...containment,
      'content-type': outcome.mimeType,
      'content-length': size,
      'content-disposition': `inline; filename="${downloadName(record.uuid, record.options.format)}"`,
      'cache-control': 'no-store',
    })
    .send(body);
}

async function readFile(name: string, store: FileStore) {
  const file = await store.stat(name);
  if (file === null) throw new ServiceError('STORAGE_FAILED', 'The file of the capture no longer exists.');
  return { body: await fileBody(store, file), size: file.size };
}

interface SendFileOptions {
  readonly store: FileStore;
  /** Unix milliseconds. */
  readonly now: number;
  /** Time until which caches may keep the response, unless the file expires earlier; Unix milliseconds. */
  readonly copiesUntil?: number;
  /** Content of the file if it is in memory; otherwise it is read from the store. */
  readonly bytes?: Buffer | null;
}

/**
 * Answers GET and HEAD with the file, the requested range, or 304.
 *
 * @throws ServiceError STORAGE_FAILED; {@link FileReplacedError}: see {@link retryIfReplaced}
 */
export async function sendFile(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  file: StoredFile,
  { store, now, copiesUntil = Infinity, bytes = null }: SendFileOptions,
): Promise<FastifyReply> {
  const fileHeaders = headersOf({ ...file, expiresAt: Math.min(file.expiresAt, copiesUntil) }, now);
  if (isNotModified(headers, file)) return reply.code(304).headers(fileHeaders).send();
  const { range: asked, 'if-range': ifRange } = headers;
  // RFC 9110, 14.2: the Range header applies to GET only.
  const range = method === 'GET' && isRangeMeant(ifRange?.toString(), file) ? byteRange(asked, file.size) : null;
  if (range === 'unsatisfiable') {
    const refusal = { 'content-range': `bytes */${file.size}`, 'cache-control': 'no-store' };
    return reply
      .code(416)
      .headers({ ...fileHeaders, ...refusal })
      .send();
  }

  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  const inMemory = bytes?.length === file.size ? bytes.subarray(start, end + 1) : null;
  const body = method === 'HEAD' ? undefined : (inMemory ?? (await fileBody(store, file, range ?? undefined)));
  if (range !== null) void reply.code(206).header('content-range', `bytes ${start}-${end}/${file.size}`);
  void reply.headers({ ...fileHeaders, 'content-type': file.contentType, 'content-length': end - start + 1 });
  if (body !== undefined) disconnectWhenStalled(reply);
  return reply.send(body);
}

function headersOf(file: StoredFile, now: number): Record<string, string> {
  return {
    ...containment,
    etag: `"${file.etag}"`,
    'last-modified': new Date(file.storedAt).toUTCString(),
    'accept-ranges': 'bytes',
    'cache-control': cacheControl(file, now),
    'content-disposition': contentDisposition(file),
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Content-Length, Content-Range, ETag',
    'cross-origin-resource-policy': 'cross-origin',
  };
}

/**
 * Parses a Range header (RFC 9110, 14.2). Returns one range of bytes, null for the whole file (no header, an unknown
 * unit or form, or several ranges), or `unsatisfiable`.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const count = Math.min(Number(last), size);
    return count === 0 ? 'unsatisfiable' : { start: size - count, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** The validators of a file: a strong ETag without quotes, and the time of storing in Unix milliseconds. */
interface Validators {
  readonly etag: string;
  readonly storedAt: number;
}

/** Returns whether the client already has this version of the file (RFC 9110, 13.1.2 and 13.1.3), which is answered with 304. */
export function isNotModified(
  headers: { readonly 'if-none-match'?: string | undefined; readonly 'if-modified-since'?: string | undefined },
  file: Validators,
): boolean {
  const tags = headers['if-none-match'];
  if (tags !== undefined) {
    return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === `"${file.etag}"`);
  }
  const since = Date.parse(headers['if-modified-since'] ?? '');
  return inSeconds(file.storedAt) <= inSeconds(since);
}

/** Returns whether a Range header applies (RFC 9110, 13.1.5): always without If-Range, otherwise if it names this version. */
export function isRangeMeant(ifRange: string | undefined, file: Validators): boolean {
  if (ifRange === undefined) return true;
  const value = ifRange.trim();
  if (value.startsWith('"')) return value === `"${file.etag}"`;
  return inSeconds(Date.parse(value)) === inSeconds(file.storedAt);
}

/** HTTP dates have no milliseconds. NaN stays NaN and equals nothing. */
const inSeconds = (time: number) => Math.floor(time / 1000);

const text = (description: string) => ({ type: 'string', description });

/** OpenAPI descriptions of the headers that {@link sendFile} sets. */
export const fileResponseHeaders = {
  etag: text('A strong validator of the bytes.'),
  'last-modified': text('Time at which the file was stored.'),
  'accept-ranges': text('Always "bytes".'),
  'cache-control': text('Caching ends when the file expires, or earlier for a file that may be refreshed.'),
  'content-disposition': text('"inline", with a file name.'),
};
