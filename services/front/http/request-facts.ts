import type { SpanFields } from '@webcapture/shared/tracing/spans.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyReader } from './body-reader.ts';
import type { Authenticator, Caller } from '../auth/authenticator.ts';
import { RequestTrace } from './request-trace.ts';

/** Sums up the time that a request waits for a renderer or another request, which is not processing time of the front. */
export class WaitClock {
  #waitedMs = 0;

  get waitedMs(): number {
    return this.#waitedMs;
  }

  async during<T>(waiting: Promise<T>): Promise<T> {
    const since = performance.now();
    try {
      return await waiting;
    } finally {
      this.#waitedMs += performance.now() - since;
    }
  }
}

/** State of an account's rate limit. Every answer after the check of the limits contains it. */
export interface RateLimitFacts {
  /** Requests a minute. */
  readonly limit: number;
  /** Number of requests that the limit allows now. */
  readonly remaining: number;
  /** Seconds until the full burst is available again, rounded up. */
  readonly resetSeconds: number;
}

/** Facts that are collected while a request is processed, for its response or error, the log and the metrics. */
export class RequestFacts {
  /** Key under which the client's address is counted. */
  readonly address: string;
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now();
  readonly wait = new WaitClock();
  readonly trace: RequestTrace;
  /** Reader of the body while it is read. */
  body?: BodyReader;
  /** Resumes the paused connection. */
  resume?: () => void;
  /** Cost of reading the body in bytes, on routes that read bodies without a key. */
  bodyBytes?: number;
  /** The response is always 200, so the body is charged to the account unless it requested a capture. */
  isMessage?: true;
  account?: string;
  /** Whether a signed link has sent the request on behalf of the account. */
  isByLink?: true;
  /** Whether the signature of the link is valid, even if the link has expired. */
  hasValidLinkSignature?: true;
  /** The authenticated key and its account. */
  caller?: Caller;
  /** The capture that the request concerns. */
  record?: Pick<CaptureRecord, 'uuid' | 'region'>;
  /** Set when the limits of the account have been checked. */
  rateLimit?: RateLimitFacts;
  /** Code of the error response. */
  code?: ErrorCode;
  /** Whether the whole response was sent, although the connection is still open for the rest of the request. */
  isAnswered?: boolean;
  /** Monotonic milliseconds at which the response became a stream of events, whose duration does not count. */
  streamingSince?: number;

  /** @param request undefined for a request without a trace */
  constructor(address = 'unknown', request?: FastifyRequest) {
    this.address = address;
    this.trace = new RequestTrace(request, this.startedAt);
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    facts: RequestFacts;
  }
}

/**
 * Returns a hook that checks the key before anything else, so that unauthorized clients learn nothing about the resource.
 * The handler gets the caller from {@link callerOf}.
 */
export function authenticateFirst(
  authenticator: Authenticator,
  scope: Parameters<Authenticator['authenticate']>[1],
): (request: FastifyRequest) => Promise<void> {
  return async ({ facts, headers }) => {
    facts.caller = await authenticator.authenticate(headers.authorization, scope);
    facts.account = facts.caller.account.id;
  };
}

/** Returns the sender of a request on a route with {@link authenticateFirst}. */
export function callerOf({ facts: { caller } }: { readonly facts: RequestFacts }): Caller {
  if (caller === undefined) throw new TypeError('the key of the request was not checked');
  return caller;
}

/** Returns a signal that aborts if the connection is closed before the response is sent. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  if (raw.destroyed && !raw.writableFinished) aborter.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) aborter.abort();
  });
  return aborter.signal;
}

/** Status for metrics and logs if the client disconnected before the response. */
const clientClosedRequest = 499;

export interface RequestMetrics {
  /** Counts a request. `code` is that of the error response. */
  request(end: {
    method: string;
    route: string;
    status: number;
    code?: ErrorCode | undefined;
    totalMs: number;
    ownMs: number;
    /** The span of the request, if it is recorded. */
    span: SpanFields;
  }): void;
}

/**
 * Writes the log line and the metrics of a request when it is over, even if the client has disconnected. They contain no bodies and
 * addresses, and the route instead of the path.
 */
export function recordRequest(request: FastifyRequest, reply: FastifyReply, metrics: RequestMetrics): void {
  const { facts, method } = request;
  const { code } = facts;
  const closedAt = performance.now();
  const { streamingSince = closedAt } = facts;
  const totalMs = streamingSince - facts.startedAt;
  const isAnswered = reply.raw.writableFinished || facts.isAnswered === true;
  const status = isAnswered ? reply.raw.statusCode : clientClosedRequest;
  const route = request.routeOptions.url ?? 'none';
  const ownMs = totalMs - facts.wait.waitedMs;
  const { record, trace } = facts;
  if (record !== undefined) trace.set({ 'webcapture.capture.id': record.uuid, 'webcapture.region': record.region });
  const span = trace.end(status, code);
  metrics.request({ method, route, status, code, totalMs, ownMs, span });
  request.log.info(
    {
      method,
      route,
      status,
      ms: Math.round(totalMs),
      // This time does not include the wait for a renderer.
      ownMs: Math.round(ownMs * 10) / 10,
      streamMs: facts.streamingSince === undefined ? undefined : Math.round(closedAt - streamingSince),
      uuid: facts.record?.uuid,
      account: facts.account,
      code,
      ...span,
    },
    'request',
  );
}
