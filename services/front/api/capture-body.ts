import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';
import type { Authenticator, Caller } from '../auth/authenticator.ts';
import { BodyReader } from '../http/body-reader.ts';
import type { BodyShares } from '../http/body-shares.ts';
import type { ClientLimits, ShedReason } from '../http/client-limits.ts';
import type { Connections } from '../http/connections.ts';
import type { JsonParser } from '../validation/json-parser.ts';

/**
 * Maximum size of a body: the longest html at four bytes a character, plus the same size for JSON escapes. Only a client that escapes
 * characters without need can exceed it.
 */
export const maxBodyBytes = 8 * 1024 * 1024;

/** Maximum size of a body that is read and validated without an API key. */
export const maxOpenBytes = 64 * 1024;

/** Retry time of a large body that was refused for lack of room. */
const bodyRetrySeconds = 5;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Maximum number of values in the body, instead of the default of `scanJson`. */
    readonly maxValues?: number;
  }
}

export interface CaptureBodyDeps {
  readonly authenticator: Authenticator;
  readonly limits: ClientLimits;
  readonly connections: Connections;
  readonly shares: BodyShares;
  readonly parser: JsonParser;
  readonly shed: (reason: ShedReason) => void;
}

/**
 * Reads the bodies of the routes of this scope. A small body is read and validated before the API key is checked, so that errors in the
 * body are reported before errors of the key. For a large body, the key is checked while the body arrives; if the key is not valid, the
 * rest is not read. If a client has exceeded its share, its key is checked before any of the body is read.
 */
export function readCaptureBodies(scope: FastifyInstance, deps: CaptureBodyDeps): void {
  scope.addHook('onRequest', async (request) => {
    const { facts, raw } = request;
    facts.bodyBytes = 0;
    const length = declaredLength(request);
    const isOver = deps.limits.isOver(facts.address);
    if (length > maxBodyBytes && !isOver) throw tooLarge();
    if (length <= maxOpenBytes && !isOver) return;
    if (isOver) facts.resume = deps.connections.pause(request);
    else facts.body = new BodyReader(raw, maxOpenBytes, length);
    facts.caller = await authenticate(request, deps);
    facts.resume?.();
  });
  scope.removeContentTypeParser('application/json');
  scope.addContentTypeParser('application/json', (request: FastifyRequest) => readBody(request, deps));
}

async function readBody(request: FastifyRequest, deps: CaptureBodyDeps): Promise<unknown> {
  const { facts, headers, raw } = request;
  const { maxValues } = request.routeOptions.config;
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw invalid(`the body must not be compressed, but has the Content-Encoding ${encoding}: send it uncompressed`);
  }
  const length = declaredLength(request);
  facts.body ??= new BodyReader(raw, maxOpenBytes, length);
  const reader = facts.body;
  const small = await reader.read();
  facts.bodyBytes = reader.cost;
  if (small !== null) return deps.parser.parse(small, maxValues);
  if (length > maxBodyBytes) throw tooLarge();
  const caller = (facts.caller ??= await authenticate(request, deps));
  // If the route has checked the key itself, the account's share is checked here.
  deps.limits.checkAccount(caller.account.id);
  // A body with unknown length may have the maximum size.
  const expected = length === 0 ? maxBodyBytes : length;
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  const release = await deps.shares.reserve(caller.account.id, expected, gone.signal);
  if (release === null) {
    if (!gone.signal.aborted) deps.shed('bodies');
    throw new RetryLaterError(
      'QUEUE_FULL',
      'The account sends too many large bodies at once. Send the request again when others have been answered.',
      bodyRetrySeconds,
      { causedBy: 'client' },
    );
  }
  try {
    reader.allow(maxBodyBytes, expected);
    const bytes = await reader.read();
    facts.bodyBytes = reader.cost;
    if (bytes === null) throw tooLarge();
    return await deps.parser.parse(bytes, maxValues);
  } finally {
    release();
  }
}

/**
 * Returns a hook for a route of this scope that needs the sender before it validates the body. If the key was checked because of the body, it
 * is not checked again.
 */
export function authenticateCapture(authenticator: Authenticator): (request: FastifyRequest) => Promise<void> {
  return async ({ facts, headers }) => {
    facts.caller ??= await authenticator.authenticate(headers.authorization, 'capture', 'UNAUTHORIZED');
    facts.account = facts.caller.account.id;
  };
}

/** Authenticates the API key. Throws if the key is refused, or if its account has sent too many invalid requests. */
async function authenticate({ headers }: FastifyRequest, deps: CaptureBodyDeps): Promise<Caller> {
  const caller = await deps.authenticator.authenticate(headers.authorization, 'capture', 'UNAUTHORIZED');
  deps.limits.checkAccount(caller.account.id);
  return caller;
}

/** Returns the Content-Length; 0 if the header is missing. */
const declaredLength = ({ headers }: FastifyRequest) => Number(headers['content-length'] ?? 0);

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);

const tooLarge = () => invalid('the body is larger than 8 MiB');
