import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mimeTypes } from '@webcapture/shared/api/formats.ts';
import { cacheControl, contentDisposition, isFileName } from '@webcapture/shared/files/file-name.ts';
import {
  type ByteRange,
  FileReplacedError,
  type FileStore,
  type StoredFile,
} from '@webcapture/shared/files/file-store.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { SignedLink, SignedLinks } from '../signed-links.ts';
import { failureAnswers } from './answers.ts';
import { fileBody, fileHeaders, giveUpWhenStalled } from './send-file.ts';

type FileRequest = FastifyRequest<{ Params: { name: string } }>;

/** Clocks differ, and whoever has a link needs a moment to follow it. */
const linkMarginSeconds = 60;

/** A file that is replaced between the look at it and the reading of it is looked at again, so often. */
const maxLooks = 3;

export interface FilesDeps {
  readonly store: Pick<FileStore, 'stat' | 'read'>;
  /** Where clients fetch files by signed links; null: through the front. */
  readonly links: Pick<SignedLinks, 'linkTo'> | null;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET and HEAD /files/{name}: the files of captures, or the way to them, where the front has to serve them itself. */
export function filesRoutes(app: FastifyInstance, { store, links, now }: FilesDeps): void {
  const handler = async (request: FileRequest, reply: FastifyReply) => {
    for (let look = 1; ; look += 1) {
      try {
        return await answer(request, reply);
      } catch (error) {
        if (!(error instanceof FileReplacedError) || look === maxLooks) throw error;
      }
    }
  };
  const answer = async (request: FileRequest, reply: FastifyReply) => {
    const { name } = request.params;
    const file = isFileName(name) ? await store.stat(name) : null;
    if (file === null) throw new ServiceError('NOT_FOUND', 'The file does not exist or has expired.');
    if (isNotModified(request.headers, file)) return reply.code(304).headers(headersOf(file, now())).send();
    // A link is signed for GET only.
    if (links !== null && request.method === 'GET') return redirect(reply, await links.linkTo(file), now());

    const { range: asked, 'if-range': ifRange } = request.headers;
    // RFC 9110, 14.2: a range is for GET only.
    const range =
      request.method === 'GET' && isRangeMeant(ifRange?.toString(), file) ? byteRange(asked, file.size) : null;
    if (range === 'unsatisfiable') return answerUnsatisfiable(reply, file, now());

    const { start, end } = range ?? { start: 0, end: file.size - 1 };
    const body = request.method === 'HEAD' ? undefined : await fileBody(store, file, range ?? undefined);
    if (range !== null) void reply.code(206).header('content-range', `bytes ${start}-${end}/${file.size}`);
    void reply.headers({
      ...headersOf(file, now()),
      'content-type': file.contentType,
      'content-length': end - start + 1,
    });
    if (body !== undefined) giveUpWhenStalled(reply);
    return reply.send(body);
  };
  app.route({ method: 'GET', url: '/files/:name', exposeHeadRoute: false, schema: fileDocument('GET'), handler });
  app.route({
    method: 'HEAD',
    url: '/files/:name',
    schema: fileDocument('HEAD'),
    config: { swagger: { exposeHeadRoute: true } },
    handler,
  });
}

function headersOf(file: StoredFile, now: number): Record<string, string> {
  return {
    ...fileHeaders,
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

/** Clients may follow the same link again as long as it opens. */
function redirect(reply: FastifyReply, { url, opensUntil }: SignedLink, now: number): FastifyReply {
  const seconds = Math.max(0, Math.floor((opensUntil - now) / 1000) - linkMarginSeconds);
  return reply
    .header('cache-control', `private, max-age=${seconds}`)
    .header('access-control-allow-origin', '*')
    .redirect(url, 302);
}

function answerUnsatisfiable(reply: FastifyReply, file: StoredFile, now: number): FastifyReply {
  return reply
    .code(416)
    .headers({ ...headersOf(file, now), 'content-range': `bytes */${file.size}`, 'cache-control': 'no-store' })
    .send();
}

/**
 * What a Range header (RFC 9110, 14.2) asks of a file: the bytes of one range, null for the whole file (no header, a
 * unit or a form that we do not know, several ranges), or `unsatisfiable`.
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

/** The validators of a file: a strong tag without quotes, and Unix milliseconds. */
interface Validators {
  readonly etag: string;
  readonly storedAt: number;
}

/** Whether the client has this very file already (RFC 9110, 13.1.2 and 13.1.3): then it is answered 304. */
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

/** Whether a Range header counts (RFC 9110, 13.1.5): without If-Range always, else for the very file that it names. */
export function isRangeMeant(ifRange: string | undefined, file: Validators): boolean {
  if (ifRange === undefined) return true;
  const value = ifRange.trim();
  if (value.startsWith('"')) return value === `"${file.etag}"`;
  return inSeconds(Date.parse(value)) === inSeconds(file.storedAt);
}

/** HTTP dates have no milliseconds. Not a number stays that, and equals nothing. */
const inSeconds = (time: number) => Math.floor(time / 1000);

const text = (description: string) => ({ type: 'string', description });

const headers = {
  etag: text('A strong validator of the bytes.'),
  'last-modified': text('Time at which the file was stored.'),
  'accept-ranges': text('Always "bytes".'),
  'cache-control': text('Caching ends when the file expires, or earlier for a file that may be refreshed.'),
  'content-disposition': text('"inline", with a file name.'),
};

const content = Object.fromEntries(
  Object.values(mimeTypes).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
);

/** What the document says of GET and HEAD /files/{name}. */
function fileDocument(method: 'GET' | 'HEAD') {
  const get = method === 'GET';
  return {
    operationId: 'getFile',
    tags: ['files'],
    summary: get ? 'Get the file of a capture' : 'Get the headers of the file of a capture',
    description: 'No API key is required, because the name contains 128 random bits.',
    params: { type: 'object', properties: { name: text('Last path segment of a fileUrl.') } },
    headers: {
      type: 'object',
      properties: {
        ...(get
          ? {
              range: text('One range of bytes, such as bytes=0-1023.'),
              'if-range': text('ETag or Last-Modified date for which the range is requested.'),
            }
          : {}),
        'if-none-match': text('ETags of the copies that the client has.'),
        'if-modified-since': text('Last-Modified date of the copy that the client has.'),
      },
    },
    response: {
      200: { description: 'The file.', headers, ...(get ? { content } : { type: 'null' }) },
      ...(get
        ? {
            206: {
              description: 'The requested range of the file.',
              headers: { ...headers, 'content-range': text('Which bytes of how many.') },
              content,
            },
            416: {
              description: 'The range is outside of the file.',
              headers: { 'content-range': text('How many bytes there are.') },
              type: 'null',
            },
          }
        : {}),
      304: { description: 'The client already has the current file.', headers, type: 'null' },
      ...(get
        ? failureAnswers(['NOT_FOUND', 'STORAGE_FAILED', 'INTERNAL_ERROR'])
        : {
            404: { description: 'The file does not exist or has expired.', type: 'null' },
            500: { description: 'The file could not be read.', type: 'null' },
          }),
    },
  };
}
