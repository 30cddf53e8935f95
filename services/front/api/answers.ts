import { failure, failureSchema, success, successSchema } from '@webcapture/shared/api/envelope.ts';
import { errorTable, type ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyReply } from 'fastify';
import type { TSchema } from 'typebox';
import type { RateLimitFacts } from '../admission.ts';
import type { RequestFacts } from '../http/request-facts.ts';

/** One answer of a route: what the OpenAPI document says of it. */
export interface AnswerDocument {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, { readonly schema: object; readonly examples?: object }>>;
}

const statusTexts: Readonly<Record<number, string>> = {
  400: 'The request is not valid, or its address is refused.',
  401: 'The API key is missing, unknown, expired or revoked, or may not do this.',
  402: 'The token quota of this month is used up.',
  403: 'The API key lacks the scope that this needs.',
  404: 'There is no such thing.',
  409: 'The state of the thing does not allow this.',
  429: 'Too many requests or captures; Retry-After says when to try again.',
  500: 'The capture failed, or something went wrong here.',
};

const requestIdHeader = { 'x-request-id': { type: 'string', description: 'The id of the request, for the operator.' } };

/** An example under a name, as a media type has them. */
export const example = (summary: string, value: unknown) => ({ summary, value });

/** A successful JSON answer in the envelope. */
export function successAnswer(description: string, data: TSchema, examples: object): AnswerDocument {
  return {
    description,
    headers: requestIdHeader,
    content: { 'application/json': { schema: successSchema(data), examples } },
  };
}

/** A JSON answer without an envelope. */
export function plainAnswer(description: string, schema: object, examples: object): AnswerDocument {
  return { description, headers: requestIdHeader, content: { 'application/json': { schema, examples } } };
}

/** Answers with data in the envelope, which no cache may keep. */
export function sendData(reply: FastifyReply, data: unknown): FastifyReply {
  return reply.header('cache-control', 'no-store').send(success(data));
}

/** What the document says of how a request stands with the rate limit of its account. */
export const rateLimitHeaderSchemas = {
  'x-ratelimit-limit': { type: 'integer', description: 'Requests a minute.' },
  'x-ratelimit-remaining': { type: 'integer', description: 'Requests that would pass right now.' },
  'x-ratelimit-reset': { type: 'integer', description: 'Seconds until the whole burst may be sent again.' },
};

/** How an account stands with its rate limit; times in whole seconds. */
export const rateLimitHeaders = ({ limit, remaining, resetSeconds }: RateLimitFacts): Record<string, string> => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetSeconds),
});

/** Of a request that came as far as its limits, on its answer or its error. */
export function setRateLimitHeaders(reply: FastifyReply, { rateLimit }: RequestFacts): void {
  if (rateLimit !== undefined) void reply.headers(rateLimitHeaders(rateLimit));
}

/** The answers of a route for all the codes that it can fail with, by status; one example for each code. */
export function failureAnswers(codes: readonly ErrorCode[]): Record<number, AnswerDocument> {
  const byStatus = Map.groupBy(codes, (code) => errorTable[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      {
        description: `${statusTexts[status] ?? 'A failure.'} Codes: ${group.join(', ')}.`,
        headers: { ...requestIdHeader, ...extraHeaders[status] },
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
  401: { 'www-authenticate': { type: 'string', description: 'Always the scheme Bearer.' } },
  429: { 'retry-after': { type: 'integer', description: 'Seconds after which to try again.' } },
};

/** The path of one capture. No format: what is no uuid is simply not found. */
export const captureParams = {
  type: 'object',
  properties: { uuid: { type: 'string', description: 'The uuid of the capture.' } },
};

/** What every route that needs a key may refuse a request with. */
export const keyRefusals = [
  'UNAUTHORIZED',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'FORBIDDEN',
  'INTERNAL_ERROR',
] as const satisfies ErrorCode[];

/** What every route of one capture may answer. */
export const captureRefusals = [...keyRefusals, 'CAPTURE_NOT_FOUND'] as const satisfies ErrorCode[];
