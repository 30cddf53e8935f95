import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyReader } from './body-reader.ts';
import type { RateLimitFacts } from '../admission.ts';
import type { Authenticator, Caller } from '../auth/authenticator.ts';

/** Adds up the time that a request spends waiting for a renderer, or for another request: no time of the front's own. */
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

/** Facts about a request that are collected on the way, for its answer or error, the log and the metrics. */
export class RequestFacts {
  /** Key under which the client's address is counted. */
  readonly address: string;
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now();
  readonly wait = new WaitClock();
  /** Its body, while that is being read. */
  body?: BodyReader;
  /** Resumes its paused connection. */
  resume?: () => void;
  /** Cost of reading the body in bytes, on routes that read bodies without a key. */
  bodyBytes?: number;
  /** The request is always answered with 200, so its body counts as invalid unless it asked for a capture. */
  isMessage?: true;
  account?: string;
  /** The request comes from a signed link, in the name of the account. */
  isByLink?: true;
  /** The signature of the link is valid, even if the link has expired. */
  isGenuineLink?: true;
  /** Whose key it carries, once that has been checked. */
  caller?: Caller;
  /** The capture that it is about. */
  record?: Pick<CaptureRecord, 'uuid' | 'region'>;
  /** Once the limits of the account were checked. */
  rateLimit?: RateLimitFacts;
  /** The error that was answered. */
  code?: ErrorCode;
  /** All of the answer is out, although the connection is not done with the request. */
  isAnswered?: boolean;
  /** When its answer became a stream of events, monotonic milliseconds: how long that lasts is no time of the request. */
  streamingSince?: number;

  constructor(address = 'unknown') {
    this.address = address;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    facts: RequestFacts;
  }
}

/**
 * A hook that checks the key before anything else of a request is looked at: who may not do this learns nothing about it.
 * The handler finds the caller by {@link callerOf}.
 */
export function authenticateFirst(
  authenticator: Pick<Authenticator, 'authenticate'>,
  scope: Parameters<Authenticator['authenticate']>[1],
): (request: FastifyRequest) => Promise<void> {
  return async ({ facts, headers }) => {
    facts.caller = await authenticator.authenticate(headers.authorization, scope);
    facts.account = facts.caller.account.id;
  };
}

/** Who sends the request: of a route that has its key checked first. */
export function callerOf({ facts: { caller } }: { readonly facts: RequestFacts }): Caller {
  if (caller === undefined) throw new TypeError('the key of a request was not checked');
  return caller;
}

/** Aborts when the connection is closed before the answer is out. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  if (raw.destroyed && !raw.writableFinished) aborter.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) aborter.abort();
  });
  return aborter.signal;
}

/** What is counted in place of a status when the client did not wait for the answer. */
const clientClosedRequest = 499;

export interface RequestMetrics {
  /** `code`: of the error that was answered. */
  request(end: {
    method: string;
    route: string;
    status: number;
    code?: ErrorCode | undefined;
    totalMs: number;
    ownMs: number;
  }): void;
}

/**
 * One log line and the metrics of a request, once its connection is done with it, also when the client went away.
 * Neither bodies nor addresses: the route, not the path.
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
  metrics.request({ method, route, status, code, totalMs, ownMs });
  request.log.info(
    {
      method,
      route,
      status,
      ms: Math.round(totalMs),
      // Without the wait for a renderer, which is not for the front to answer for.
      ownMs: Math.round(ownMs * 10) / 10,
      streamMs: facts.streamingSince === undefined ? undefined : Math.round(closedAt - streamingSince),
      uuid: facts.record?.uuid,
      account: facts.account,
      code,
    },
    'request',
  );
}
