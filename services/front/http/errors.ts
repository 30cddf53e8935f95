import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { failure } from '@webcapture/shared/api/envelope.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { RetryLaterError } from '../admission.ts';
import { natsUnavailable } from '../nats.ts';
import { chunkBytes } from './body-reader.ts';
import { ShedError } from './client-limits.ts';
import { awaitsContinue } from './continue.ts';
import { errorPicture, wantsPicture } from './error-picture.ts';

/** Default retry time in seconds of a request that was refused for lack of capacity. */
const defaultRetrySeconds = 5;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether clients that accept pictures but no text get errors as pictures. */
    readonly picturesErrors?: boolean;
  }
}

/** Sends an error in the envelope of failures, or as a picture, and logs its cause. */
export async function answerError(
  thrown: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const error = noteError(thrown, request);
  if (error.status === 401) void reply.header('www-authenticate', 'Bearer realm="webcapture"');
  if (error instanceof RetryLaterError) void reply.header('retry-after', error.retryAfterSeconds);
  else if (error.status === 429) void reply.header('retry-after', defaultRetrySeconds);
  if (error instanceof MethodNotAllowedError) void reply.header('allow', error.allowed.join(', '));
  void reply.code(error.status);
  if (request.routeOptions.config.picturesErrors === true && wantsPicture(request.headers.accept)) {
    void reply.headers({ 'content-type': 'image/png', 'x-error-code': error.code });
    await sendRefusal(request, reply, errorPicture(error), error);
    return;
  }
  void reply.type('application/json; charset=utf-8');
  await sendRefusal(request, reply, Buffer.from(JSON.stringify(failure(error.code, error.message))), error);
}

/** Returns the public error, records its code in the request's facts, and logs its cause. */
export function noteError(thrown: FastifyError | Error, request: FastifyRequest): ServiceError {
  const error = publicError(thrown, request);
  request.facts.code = error.code;
  if (error.cause !== undefined || error.code === 'INTERNAL_ERROR') {
    const { uuid } = request.facts.record ?? {};
    request.log.error({ err: error, uuid, code: error.code }, 'a request failed');
  }
  return error;
}

/** Sends an error without waiting for the rest of the request. */
async function sendRefusal(
  { raw, headers, facts }: FastifyRequest,
  reply: FastifyReply,
  answer: Buffer,
  error: ServiceError,
): Promise<void> {
  facts.body?.stop();
  if (error instanceof ShedError) {
    // The rest of the request is not read, even though the client may then see a reset instead of the response.
    await reply.header('connection', 'close').send(answer);
    return;
  }
  facts.resume?.();
  const isSmall =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= maxIgnoredBytes;
  if (raw.readableEnded || (isSmall && !awaitsContinue(raw))) {
    raw.resume();
    await reply.send(answer);
    return;
  }
  void reply.header('connection', 'close');
  if (awaitsContinue(raw)) {
    await reply.send(answer);
    return;
  }
  async function* answerAndDrain() {
    yield answer;
    facts.isAnswered = true;
    await drainBody(raw, (bytes) => (facts.bodyBytes = (facts.bodyBytes ?? 0) + bytes));
  }
  void reply.header('content-length', answer.length);
  await reply.send(Readable.from(answerAndDrain()));
}

/** Answers requests without a route. */
export async function answerNotFound(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const message = `There is no ${request.method} ${shownPath(request)}. GET /docs lists the endpoints.`;
  await answerError(new ServiceError('NOT_FOUND', message), request, reply);
}

/** The error for a path that exists, but not with this method. The status is 405, although the same code otherwise has the status 404. */
export class MethodNotAllowedError extends ServiceError<'NOT_FOUND'> {
  readonly allowed: readonly string[];

  constructor(request: FastifyRequest, allowed: readonly string[]) {
    super('NOT_FOUND', `There is no ${request.method} ${shownPath(request)}, only ${allowed.join(', ')}.`);
    this.allowed = allowed;
  }

  override get status(): number {
    return 405;
  }
}

function shownPath({ url }: FastifyRequest): string {
  const [path = '/'] = url.split('?');
  return path.length <= 80 ? path : `${path.slice(0, 77)}…`;
}

/** Errors that fastify reports before a handler runs, converted to errors of the service. */
const frameworkErrors: Readonly<Record<string, (request: FastifyRequest) => ServiceError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    invalid('the body must be JSON: send it with the header "Content-Type: application/json"'),
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions }) => invalid(`the body is larger than ${routeOptions.bodyLimit} bytes`),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalid('the length of the body differs from its Content-Length'),
  FST_ERR_BAD_URL: () => new ServiceError('NOT_FOUND'),
  FST_ERR_MAX_PARAM_LENGTH: () => new ServiceError('NOT_FOUND'),
};

const invalid = (message: string) => new ServiceError('VALIDATION_ERROR', message);

/** Converts any thrown value to a public error. Private details stay in `cause`, for the log. */
function publicError(thrown: FastifyError | Error, request: FastifyRequest): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const { code = '', statusCode = 500 } = thrown as Partial<FastifyError>;
  const known = frameworkErrors[code];
  if (known !== undefined) return known(request);
  if (statusCode >= 400 && statusCode < 500) {
    return new ServiceError('VALIDATION_ERROR', 'the request could not be read', { cause: thrown });
  }
  if (isTransient(thrown)) return natsUnavailable('The service cannot reach its data right now.', thrown);
  return new ServiceError(
    'INTERNAL_ERROR',
    `An internal error occurred. Send the request again; if the error persists, report the request id ${request.id} to the operator.`,
    { cause: thrown },
  );
}

/**
 * Sends a failure envelope on a connection whose data is not valid HTTP, or whose request is too slow or too large. A connection without
 * any data is closed without a response: browsers and proxies open connections in advance, and would take the response for that of their
 * next request.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  const isUnused = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0;
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0 || isUnused) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(
    failure('VALIDATION_ERROR', reasons[error.code ?? ''] ?? 'this is not a valid HTTP request'),
  );
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // If the client does not close its side, the connection would keep its file descriptor.
  const timer = setTimeout(() => socket.destroy(), lingerTimeoutMs);
  socket.once('close', () => clearTimeout(timer));
}

/** Time for which a client can read the response before its connection is closed. */
const lingerTimeoutMs = 2000;

const reasons: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'the request took too long to arrive',
  HPE_HEADER_OVERFLOW: 'the headers of the request are too large',
};

/** Bodies up to this size are discarded, and the connection is kept. */
const maxIgnoredBytes = 64 * 1024;

/** Maximum time for which the rest of a body is drained. */
const drainTimeoutMs = 10_000;
/** Maximum size of the rest of a body that is drained. */
const maxDrainedBytes = 16 * 1024 * 1024;

/**
 * Reads and discards the rest of a refused body: if the connection were closed, the client would see a reset instead of the response.
 * Resolves when the body ends, the client disconnects, or a limit is reached.
 *
 * @param count called with the cost of reading, in bytes
 */
function drainBody(request: IncomingMessage, count: (bytes: number) => void): Promise<void> {
  return new Promise((resolve) => {
    let left = maxDrainedBytes;
    const timer = setTimeout(done, drainTimeoutMs);
    function onData({ length }: Buffer) {
      count(length + chunkBytes);
      left -= length;
      if (left < 0) done();
    }
    function done() {
      clearTimeout(timer);
      request.off('data', onData).off('end', done).off('close', done);
      resolve();
    }
    if (request.readableEnded || request.destroyed) return done();
    request.on('data', onData).once('end', done).once('close', done);
    request.resume();
  });
}
