import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { isFileName } from '@webcapture/shared/storage/file-name.ts';
import type { StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FrontDeps } from '../deps.ts';
import { byteRange } from '../http/byte-range.ts';
import { isNotModified, isRangeMeant } from '../http/conditions.ts';
import { downloadName, fileBody, fileHeaders, formatOf, giveUpWhenStalled } from '../http/send-file.ts';
import { fileDocument } from '../openapi/files.ts';

/** A year: no cache keeps anything for longer. */
const maxAgeSeconds = 31_536_000;

const uuidLength = 36;

type FileRequest = FastifyRequest<{ Params: { name: string } }>;

/** GET and HEAD /files/{name}: the files of captures, where the front has to serve them itself. */
export function filesRoutes(app: FastifyInstance, { store }: FrontDeps): void {
  const handler = async (request: FileRequest, reply: FastifyReply) => {
    const { name } = request.params;
    const file = isFileName(name) ? await store.stat(name) : null;
    if (file === null) throw new ServiceError('NOT_FOUND', 'There is no file of this name, or it has expired.');
    void reply.headers(headersOf(file));
    if (isNotModified(request.headers, file)) return reply.code(304).send();

    const { range: asked, 'if-range': ifRange } = request.headers;
    // RFC 9110, 14.2: a range is for GET only.
    const range =
      request.method === 'GET' && isRangeMeant(ifRange?.toString(), file) ? byteRange(asked, file.size) : null;
    if (range === 'unsatisfiable') return answerUnsatisfiable(reply, file);

    const { start, end } = range ?? { start: 0, end: file.size - 1 };
    if (range !== null) void reply.code(206).header('content-range', `bytes ${start}-${end}/${file.size}`);
    void reply.headers({ 'content-type': file.contentType, 'content-length': end - start + 1 });
    if (request.method === 'HEAD') return reply.send();
    const body = await fileBody(store, file, range ?? undefined);
    giveUpWhenStalled(reply);
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

function headersOf(file: StoredFile): Record<string, string> {
  const uuid = file.name.slice(0, uuidLength);
  return {
    ...fileHeaders,
    etag: `"${file.etag}"`,
    'last-modified': new Date(file.storedAt).toUTCString(),
    'accept-ranges': 'bytes',
    'cache-control': cacheControl(file),
    'content-disposition': `inline; filename="${downloadName(uuid, formatOf(file.contentType))}"`,
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Content-Length, Content-Range, ETag',
    'cross-origin-resource-policy': 'cross-origin',
  };
}

/** A file that may be replaced is asked for again after a while, which costs little where it is the same still. */
function cacheControl({ expiresAt, cacheSeconds }: StoredFile): string {
  const secondsLeft = Math.max(0, Math.floor((expiresAt - Date.now()) / 1000));
  if (cacheSeconds === undefined) return `public, max-age=${Math.min(secondsLeft, maxAgeSeconds)}`;
  return `public, max-age=${Math.min(secondsLeft, cacheSeconds)}, must-revalidate`;
}

function answerUnsatisfiable(reply: FastifyReply, { size }: StoredFile): FastifyReply {
  return reply.code(416).header('content-range', `bytes */${size}`).header('cache-control', 'no-store').send();
}
