import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { extractedSchema } from '@webcapture/shared/api/extracted.ts';
import { binaryTypes, mimeTypes } from '@webcapture/shared/api/formats.ts';
import { isFileName } from '@webcapture/shared/files/file-name.ts';
import { type FileStore, retryIfReplaced } from '@webcapture/shared/files/file-store.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { type LinkSigner, type SignedLink, SignedLinks } from '../signed-links.ts';
import { example, failureAnswers } from './answers.ts';
import { partsExample } from './capture-examples.ts';
import { fileResponseHeaders as headers, isNotModified, sendFile } from './send-file.ts';

type FileRequest = FastifyRequest<{ Params: { name: string } }>;

/** Margin for clock differences and for the time until a client follows a link. It is subtracted from the lifetime of the link. */
const linkMarginSeconds = 60;

export interface FilesDeps {
  readonly store: FileStore;
  /** If set, clients are redirected to signed links for files. */
  readonly linkSigner?: LinkSigner | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET and HEAD /files/{name}: serves the files of captures, or redirects to signed links. */
export function filesRoutes(app: FastifyInstance, { store, linkSigner, now }: FilesDeps): void {
  const signedLinks = linkSigner === undefined ? null : new SignedLinks(linkSigner.sign, now);
  const answer = async (request: FileRequest, reply: FastifyReply) => {
    const { name } = request.params;
    const file = isFileName(name) ? await store.stat(name) : null;
    if (file === null) throw new ServiceError('NOT_FOUND', 'The file does not exist or has expired.');
    // Signed links are valid for GET only.
    const isRedirected = signedLinks !== null && request.method === 'GET' && !isNotModified(request.headers, file);
    if (isRedirected) return redirect(reply, await signedLinks.linkTo(file), now());
    return sendFile(request, reply, file, { store, now: now() });
  };
  const handler = (request: FileRequest, reply: FastifyReply) => retryIfReplaced(() => answer(request, reply));
  app.route({ method: 'GET', url: '/files/:name', exposeHeadRoute: false, schema: fileDocument('GET'), handler });
  app.route({
    method: 'HEAD',
    url: '/files/:name',
    schema: fileDocument('HEAD'),
    config: { swagger: { exposeHeadRoute: true } },
    handler,
  });
}

/** Redirects to a signed link. Clients may cache the redirect until shortly before the link expires. */
function redirect(reply: FastifyReply, { url, opensUntil }: SignedLink, now: number): FastifyReply {
  const seconds = Math.max(0, Math.floor((opensUntil - now) / 1000) - linkMarginSeconds);
  return reply
    .header('cache-control', `private, max-age=${seconds}`)
    .header('access-control-allow-origin', '*')
    .redirect(url, 302);
}

const text = (description: string) => ({ type: 'string', description });

const content = {
  ...Object.fromEntries(binaryTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
  [mimeTypes.none]: {
    schema: extractedSchema,
    examples: { data: example('The file of a capture without a picture', partsExample) },
  },
};

/** Returns the OpenAPI description of GET and HEAD /files/{name}. */
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
              headers: { ...headers, 'content-range': text('Range of the returned bytes, and size of the file.') },
              content,
            },
            416: {
              description: 'The range is outside of the file.',
              headers: { 'content-range': text('Size of the file.') },
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
