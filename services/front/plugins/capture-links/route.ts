import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type CaptureRequest, captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import { binaryTypes } from '@webcapture/shared/api/formats.ts';
import { retryIfReplaced } from '@webcapture/shared/files/file-store.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { CaptureLinks, VerifiedLink } from '../../auth/capture-links.ts';
import type { CaptureAnswer, CaptureFile } from '../../capture/answer.ts';
import { sha256 } from '../../capture/cache-key.ts';
import { bodyOfLink, linkOptionSchemas } from './link-options.ts';
import { fillInDevice } from '../../capture/visitor-rules.ts';
import { entryLimit } from '../../entry-limit.ts';
import { clientGone } from '../../http/request-facts.ts';
import { explainErrors } from '../../validation/explain-errors.ts';
import { rateLimitHeaderSchemas } from '../../api/answers.ts';
import { answerCapture, captureFailures, type CaptureRouteDeps } from '../../api/capture.ts';
import { fileResponseHeaders, sendFile } from '../../api/send-file.ts';

export interface CaptureLinkDeps extends CaptureRouteDeps {
  readonly links: CaptureLinks;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const maxFailures = 10_000;
/** Time for which a failure is cached; afterwards, the page is captured again. */
const failureTtlMs = 30_000;

/** Errors that are likely to occur again if the same page is captured again. */
const pageFailures: readonly string[] = [
  'URL_BLOCKED',
  'NAVIGATION_FAILED',
  'CAPTURE_TIMEOUT',
  'CAPTURE_FAILED',
  'PAGE_TOO_LARGE',
];

/** GET and HEAD /capture: returns the file of a signed link, for use in `<img>`. */
export function captureLinkRoute(app: FastifyInstance, deps: CaptureLinkDeps): void {
  const { links } = deps;
  /**
   * Failures are cached here because HTTP caches do not store them. Otherwise, anyone with a link could exhaust the rate
   * limit of the account by reloading it.
   */
  const failures = new LRUCache<string, ServiceError>({ ...entryLimit(maxFailures), ttl: failureTtlMs });
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    // Pages of any origin may show the response, including errors.
    void reply.headers({
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    });
    request.facts.isByLink = true;
    const link = await links.verify(queryOf(request.url), () => (request.facts.hasValidLinkSignature = true));
    const body = validBody(request, link);
    const name = sha256(JSON.stringify([link.caller.account.id, link.options]));
    const failed = failures.get(name);
    if (failed !== undefined) throw new ServiceError(failed.code, failed.message, { causedBy: failed.causedBy });
    const call = {
      body,
      authorization: undefined,
      caller: link.caller,
      idempotencyKeys: [],
      clientGone: clientGone(reply),
    };
    const send = ({ file }: CaptureAnswer) => {
      if (file === undefined) throw new TypeError('the response to a capture link has no file');
      return sendCaptured(request, reply, file, { deps, link, maxAgeMs: 1000 * body.responseCache.ttl });
    };
    return answerCapture(request, reply, call, deps, send).catch((error: unknown) => {
      if (error instanceof ServiceError && pageFailures.includes(error.code)) failures.set(name, error);
      throw error;
    });
  };
  const config = { shedsLoad: true, picturesErrors: true, queryDocument };
  app.route({
    method: 'GET',
    url: '/capture',
    exposeHeadRoute: false,
    schema: linkDocument('GET'),
    config,
    handler,
  });
  app.route({
    method: 'HEAD',
    url: '/capture',
    schema: linkDocument('HEAD'),
    config: { ...config, swagger: { exposeHeadRoute: true } },
    handler,
  });
}

/** Returns the query string of a request's target. */
export const queryOf = (url: string) => (url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');

/** Returns the body that the link represents, validated like that of POST /capture. Throws a VALIDATION_ERROR. */
function validBody(request: FastifyRequest, { options }: VerifiedLink): CaptureRequest {
  const body = bodyOfLink(options);
  fillInDevice(body);
  const validate = request.compileValidationSchema(captureRequestSchema, 'body');
  if (validate(body) !== true) {
    throw new ServiceError('VALIDATION_ERROR', explainErrors(validate.errors ?? [], captureRequestSchema));
  }
  return body as unknown as CaptureRequest;
}

interface SendTerms {
  readonly deps: CaptureLinkDeps;
  readonly link: VerifiedLink;
  /** Maximum age of a capture that may be returned for the link. */
  readonly maxAgeMs: number;
}

/** Sends the file. HTTP caches may use it as long as the service does: until the link requires a newer capture or expires. */
function sendCaptured(
  request: FastifyRequest,
  reply: FastifyReply,
  { record, outcome, bytes }: CaptureFile,
  { deps: { store, now }, link, maxAgeMs }: SendTerms,
): Promise<FastifyReply> {
  const copiesUntil = Math.min(outcome.capturedAt + maxAgeMs, link.expiresAt);
  return retryIfReplaced(async () => {
    const stored = await store.stat(record.fileName);
    if (stored === null) throw new ServiceError('STORAGE_FAILED', 'The file of the capture no longer exists.');
    return sendFile(request, reply, stored, { store, now: now(), copiesUntil, bytes });
  });
}

/** The parameters without the signature, for the OpenAPI document only: in a query, every value is a string. */
const queryDocument = {
  type: 'object',
  required: ['key', 'expires'],
  properties: {
    key: { type: 'string', description: 'ID of the API key whose signing secret has signed the link.' },
    expires: {
      type: 'integer',
      description: 'Unix time in seconds at which the link expires, at most 366 days ahead.',
    },
    ...linkOptionSchemas(),
  },
};

const file = { schema: { type: 'string', format: 'binary' } };

/** Returns the OpenAPI description of GET and HEAD /capture. */
function linkDocument(method: 'GET' | 'HEAD') {
  const isGet = method === 'GET';
  const headers = {
    ...fileResponseHeaders,
    ...rateLimitHeaderSchemas,
    'cache-control': {
      type: 'string',
      description: 'Caching ends when the link expires, or the capture becomes older than responseCache.ttl.',
    },
    'x-capture-uuid': { type: 'string', format: 'uuid', description: 'UUID of the capture.' },
  };
  const content = Object.fromEntries(binaryTypes.map((type) => [type, file]));
  return {
    operationId: 'getCaptureLink',
    tags: ['captures'],
    summary: isGet ? 'Get the file of a capture by a signed link' : 'Get the headers of the file of a signed link',
    description:
      'For links in emails and pages: the query contains the options of POST /capture and a signature, made with a secret of POST /keys/{id}/signing-secret, in place of an API key. Fields of objects are dotted (viewport.width=800), lists are repeated (hide=.a&hide=.b), and other objects are JSON. responseCache.enabled is true. The options responseType, background, webhook, persistence, extract and html, and those that a link would make public, are not allowed. A page is captured with the first request; later ones are answered from the cache. Errors are sent as PNG, with the code in X-Error-Code, if Accept names image types and neither text/html nor application/json.',
    security: [{ signedLink: [] }],
    response: {
      200: { description: 'The file.', headers, ...(isGet ? { content } : { type: 'null' }) },
      ...(isGet
        ? {
            206: { description: 'The requested range of the file.', headers, content },
            416: { description: 'The range is outside of the file.', type: 'null' },
          }
        : {}),
      304: { description: 'The client already has the current file.', headers, type: 'null' },
      ...Object.fromEntries(
        Object.entries(captureFailures).map(([status, failure]) =>
          isGet
            ? [status, { ...failure, content: { ...failure.content, 'image/png': file } }]
            : [status, { description: failure.description, headers: failure.headers, type: 'null' }],
        ),
      ),
    },
  };
}
