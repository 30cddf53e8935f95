import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { cacheControl } from '@webcapture/shared/storage/cache-control.ts';
import { contentDisposition } from '@webcapture/shared/storage/download-name.ts';
import { isFileName } from '@webcapture/shared/storage/file-name.ts';
import { FileReplacedError } from '@webcapture/shared/storage/file-replaced-error.ts';
import type { StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FrontDeps } from '../deps.ts';
import { byteRange } from '../http/byte-range.ts';
import { isNotModified, isRangeMeant } from '../http/conditions.ts';
import type { SignedLink } from '../http/signed-links.ts';
import { fileBody, fileHeaders, giveUpWhenStalled } from '../http/send-file.ts';
import { fileDocument } from '../openapi/files.ts';

type FileRequest = FastifyRequest<{ Params: { name: string } }>;

/** Clocks differ, and whoever has a link needs a moment to follow it. */
const linkMarginSeconds = 60;

/** A file that is replaced between the look at it and the reading of it is looked at again, so often. */
const mostLooks = 3;

/** GET and HEAD /files/{name}: the files of captures, or the way to them, where the front has to serve them itself. */
export function filesRoutes(app: FastifyInstance, { store, links, now }: FrontDeps): void {
  const handler = async (request: FileRequest, reply: FastifyReply) => {
    for (let look = 1; ; look += 1) {
      try {
        return await answer(request, reply);
      } catch (error) {
        if (!(error instanceof FileReplacedError) || look === mostLooks) throw error;
      }
    }
  };
  const answer = async (request: FileRequest, reply: FastifyReply) => {
    const { name } = request.params;
    const file = isFileName(name) ? await store.stat(name) : null;
    if (file === null) throw new ServiceError('NOT_FOUND', 'There is no file of this name, or it has expired.');
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
