import { failure, failureSchema, success, successSchema } from '@webcapture/shared/api/envelope.ts';
import { errorTable, type ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyReply } from 'fastify';
import type { TSchema } from 'typebox';
import type { RateLimitFacts, RequestFacts } from '../http/request-facts.ts';

/** The description of one response of a route in the OpenAPI document. */
export interface AnswerDocument {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema: object; readonly examples?: object }>>;
}

const statusTexts: Readonly<Record<number, string>> = {
  400: 'The request is not valid, or the egress policy refuses the URL.',
  401: 'The API key or admin token is missing, unknown, expired or revoked, or the account is suspended.',
  402: 'The token quota of the calendar month is exhausted.',
  403: 'The API key lacks the required scope, the account is suspended, or it may not use an option of the capture.',
  404: 'The resource was not found.',
  409: 'The state of the resource does not allow this operation.',
  429: 'Too many requests or captures. Retry after the time in the Retry-After header.',
  500: 'The capture failed, or an internal error occurred.',
};

export const requestIdHeader = {
  'x-request-id': {
    type: 'string',
    description: 'ID of the request. Operators can find the request in the logs by this ID.',
  },
};

/** Returns a named example of a media type. */
export const example = (summary: string, value: unknown) => ({ summary, value });

/** Describes a successful JSON response in the envelope. */
export function successAnswer(description: string, data: TSchema, examples: object): AnswerDocument {
  return {
    description,
    headers: requestIdHeader,
    content: { 'application/json': { schema: successSchema(data), examples } },
  };
}

/** Describes a JSON response without an envelope. */
export function plainAnswer(description: string, schema: object, examples: object): AnswerDocument {
  return { description, headers: requestIdHeader, content: { 'application/json': { schema, examples } } };
}

/** Describes a stream of server-sent events. */
export function eventStreamAnswer(description: string, events: string): AnswerDocument {
  return {
    description,
    headers: requestIdHeader,
    content: { 'text/event-stream': { schema: { type: 'string' }, examples: { events: example('Events', events) } } },
  };
}

/** Sends data in the envelope. Caches may not store the response. */
export function sendData(reply: FastifyReply, data: unknown): FastifyReply {
  return reply.header('cache-control', 'no-store').send(success(data));
}

/** OpenAPI schemas of the rate limit headers. */
export const rateLimitHeaderSchemas = {
  'x-ratelimit-limit': { type: 'integer', description: 'Requests allowed per minute.' },
  'x-ratelimit-remaining': { type: 'integer', description: 'Requests that are allowed right now.' },
  'x-ratelimit-reset': { type: 'integer', description: 'Seconds until the full burst is available again.' },
};

/** Headers with the state of an account's rate limit; times in whole seconds. */
export const rateLimitHeaders = ({ limit, remaining, resetSeconds }: RateLimitFacts): Record<string, string> => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetSeconds),
});

/** Sets the rate limit headers if the account's limits were checked. Applies to responses and errors. */
export function setRateLimitHeaders(reply: FastifyReply, { rateLimit }: RequestFacts): void {
  if (rateLimit !== undefined) void reply.headers(rateLimitHeaders(rateLimit));
}

/** Returns the error responses of a route by status. Each response has one example for each code with which the route can fail. */
export function failureAnswers(codes: readonly ErrorCode[]): Record<number, AnswerDocument> {
  const byStatus = Map.groupBy(codes, (code) => errorTable[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: `${statusTexts[status] ?? 'A failure.'} Codes: ${group.join(', ')}.`,
        headers: {
          ...requestIdHeader,
          ...extraHeaders[status],
          ...(group.includes('REGION_UNAVAILABLE') ? retryAfterOfRegions : {}),
        },
        content: {
          'application/json': {
            schema: failureSchema(group),
            examples: Object.fromEntries(group.map((code) => [code, example(code, failure(code))])),
          },
        },
      },
    ]),
  );
}

const extraHeaders: Readonly<Record<number, Readonly<Record<string, object>>>> = {
  401: { 'www-authenticate': { type: 'string', description: 'Authentication scheme, always Bearer.' } },
  429: { 'retry-after': { type: 'integer', description: 'Seconds to wait before the request is retried.' } },
};

const retryAfterOfRegions = {
  'retry-after': {
    type: 'integer',
    description: 'Seconds to wait before the request is retried. Only with REGION_UNAVAILABLE, if a retry can succeed.',
  },
};

/** The path parameter of a capture. It has no format, so that an invalid UUID is answered with 404. */
export const captureParams = {
  type: 'object',
  properties: { uuid: { type: 'string', description: 'UUID of the capture.' } },
};

/** Errors of every route that requires an API key. */
export const keyRefusals = [
  'UNAUTHORIZED',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
] as const satisfies ErrorCode[];

/** The properties of every operation under /admin in the OpenAPI document. */
export const adminOperation = { tags: ['admin'], security: [{ adminToken: [] }] };

/** Errors of every route under /admin. */
export const adminRefusals = [
  'UNAUTHORIZED',
  'NOT_FOUND',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
] as const satisfies ErrorCode[];

/** Errors of every route of one capture. */
export const captureRefusals = [...keyRefusals, 'CAPTURE_NOT_FOUND'] as const satisfies ErrorCode[];
