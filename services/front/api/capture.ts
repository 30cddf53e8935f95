import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type CaptureRequest, captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureProgress } from '@webcapture/shared/api/capture-event.ts';
import { captureResultSchema, pendingCaptureSchema } from '@webcapture/shared/api/capture.ts';
import { success, successSchema } from '@webcapture/shared/api/envelope.ts';
import { linkRefusals, optionGroups } from '@webcapture/shared/api/option-table.ts';
import { binaryTypes } from '@webcapture/shared/api/formats.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { type ErrorCode, type FailureCause, ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { CaptureAnswer } from '../capture/answer.ts';
import type { CaptureCall, CapturePipeline } from '../capture/pipeline.ts';
import { fillInDevice } from '../capture/visitor-rules.ts';
import { CaptureStream } from '../events/capture-stream.ts';
import { eventStreamType } from '../events/event-stream.ts';
import { clientGone, type RequestFacts } from '../http/request-facts.ts';
import type { CaptureOutcomeLabel, FrontMetrics } from '../metrics.ts';
import { explainErrors } from '../validation/explain-errors.ts';
import {
  type AnswerDocument,
  example,
  failureAnswers,
  rateLimitHeaderSchemas,
  requestIdHeader,
  setRateLimitHeaders,
} from './answers.ts';
import {
  awaitedExample,
  extractedExample,
  progressExamples,
  queuedExample,
  requestExamples,
  resultExample,
} from './capture-examples.ts';
import { sendCapture } from './send-file.ts';

/** Dependencies of a route that captures a page and counts the outcome. */
export interface CaptureCallDeps {
  readonly pipeline: CapturePipeline;
  readonly metrics: FrontMetrics;
}

export interface CaptureRouteDeps extends CaptureCallDeps {
  readonly store: FileStore;
}

/** POST /capture. */
export function captureRoute(app: FastifyInstance, { pipeline, store, metrics }: CaptureRouteDeps): void {
  app.post<{ Body: CaptureRequest }>('/capture', {
    schema: { ...createCaptureDocument, body: captureRequestSchema },
    config: { requestExamples, headersDocument: idempotencyDocument, shedsLoad: true },
    preValidation: async ({ body }) => fillInDevice(body),
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, captureRequestSchema)),
    handler: async (request, reply) => {
      const { body, headers, raw } = request;
      const call = {
        body,
        authorization: headers.authorization,
        idempotencyKeys: valuesOf('idempotency-key', raw.rawHeaders),
        clientGone: clientGone(reply),
      };
      if (headers.accept === eventStreamType && body.responseType === 'json') {
        return streamCapture(request, reply, call, { pipeline, metrics });
      }
      return answerCapture(request, reply, call, { pipeline, metrics }, ({ data, file, isReplayed }) => {
        if (isReplayed === true) void reply.header('idempotent-replayed', 'true');
        return file === undefined ? reply.send(success(data)) : sendCapture(reply, file, store);
      });
    },
  });
}

/** Answers a call through the pipeline, sets the rate limit headers, and counts the outcome. */
export function answerCapture(
  { facts }: FastifyRequest,
  reply: FastifyReply,
  call: CaptureCall,
  deps: CaptureCallDeps,
  send: (answer: CaptureAnswer) => Promise<FastifyReply> | FastifyReply,
): Promise<FastifyReply> {
  const { pipeline } = deps;
  const capture = () => pipeline.capture(call, facts).finally(() => setCaptureHeaders(reply, facts));
  return countCapture(call, facts, deps, capture, (answer) => (answer === null ? reply.hijack() : send(answer)));
}

/** Streams an event for each step of the capture. The last event is the result. */
async function streamCapture(
  request: FastifyRequest,
  reply: FastifyReply,
  call: CaptureCall,
  deps: CaptureCallDeps,
): Promise<FastifyReply> {
  const stream = new CaptureStream(request, reply, () => setCaptureHeaders(reply, request.facts));
  const followed = { ...call, onProgress: (progress: CaptureProgress) => stream.progress(progress) };
  try {
    return await answerCapture(request, reply, followed, deps, ({ data, isReplayed }) => {
      if (isReplayed === true) void reply.header('idempotent-replayed', 'true');
      return stream.end(success(data));
    });
  } catch (error) {
    if (!stream.isStarted) throw error;
    return stream.fail(error as Error);
  }
}

/** Counts the outcome of a capture request. `capture` resolves to null if the client has disconnected. */
export async function countCapture<T>(
  { body }: CaptureCall,
  facts: RequestFacts,
  { metrics }: CaptureCallDeps,
  capture: () => Promise<CaptureAnswer | null>,
  use: (answer: CaptureAnswer | null) => Promise<T> | T,
): Promise<T> {
  let outcome: CaptureOutcomeLabel = 'INTERNAL_ERROR';
  let cause: FailureCause | 'none' = 'none';
  try {
    const answer = await capture();
    outcome = answer === null ? 'client_gone' : answer.data?.status === 'queued' ? 'queued' : 'completed';
    return await use(answer);
  } catch (error) {
    ({ code: outcome, causedBy: cause } = toServiceError(error));
    throw error;
  } finally {
    const region = facts.record?.region ?? 'none';
    // Invalid and unauthenticated requests do not count as captures.
    if (facts.account !== undefined) metrics.capture({ outcome, cause, region, format: body.format });
  }
}

/** Returns all values of a header as received: Node joins repeated headers. `rawHeaders` alternates names and values. */
export function valuesOf(name: string, rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** Sets the headers with the capture's uuid and the account's rate limit on a response or error. */
export function setCaptureHeaders(reply: FastifyReply, facts: RequestFacts): void {
  if (facts.record !== undefined) void reply.header('x-capture-uuid', facts.record.uuid);
  setRateLimitHeaders(reply, facts);
}

/** Adds the rate limit headers to the errors that can occur after the check of the limits. */
export function withRateLimitHeaders(answers: Record<number, AnswerDocument>): Record<number, AnswerDocument> {
  const entries = Object.entries(answers).map(([status, answer]) =>
    ['402', '429', '500'].includes(status)
      ? [status, { ...answer, headers: { ...answer.headers, ...rateLimitHeaderSchemas } }]
      : [status, answer],
  );
  return Object.fromEntries(entries) as Record<number, AnswerDocument>;
}

/** Codes of the errors of a capture request. */
export const captureErrorCodes = [
  'VALIDATION_ERROR',
  'URL_BLOCKED',
  'SESSION_NOT_FOUND',
  'UNAUTHORIZED',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'QUOTA_EXCEEDED',
  'RATE_LIMIT_EXCEEDED',
  'QUEUE_FULL',
  'NAVIGATION_FAILED',
  'CAPTURE_TIMEOUT',
  'CAPTURE_FAILED',
  'PAGE_TOO_LARGE',
  'REGION_UNAVAILABLE',
  'STORAGE_FAILED',
  'INTERNAL_ERROR',
] as const satisfies ErrorCode[];

/** Codes of the errors that rendering a page can cause. */
const renderErrorCodes: readonly ErrorCode[] = [
  'NAVIGATION_FAILED',
  'CAPTURE_TIMEOUT',
  'CAPTURE_FAILED',
  'PAGE_TOO_LARGE',
];

/** Codes of the errors of a request whose captures are only queued. */
export const acceptanceErrorCodes = captureErrorCodes.filter((code) => !renderErrorCodes.includes(code));

/** Errors of a capture request. */
export const captureFailures = withRateLimitHeaders(failureAnswers(captureErrorCodes));

const file = { schema: { type: 'string', format: 'binary' } };

/** For the OpenAPI document only: the route reports a more precise error for an invalid header. */
export const idempotencyDocument = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      pattern: '^[!-~]{1,255}$',
      description:
        'Makes retries safe. For 24 hours, a request with the same key and the same body returns the first response at no cost. While the first request is in progress, other requests with the same key wait for it. A request with the same key and another body is answered with 400. Errors that can be retried (402, 429, 5xx) are not kept. The key has 1 to 255 visible ASCII characters.',
    },
  },
};

/** OpenAPI schema of a header. */
export const idempotentReplayedHeader = {
  type: 'string',
  enum: ['true'],
  description: 'Present when the response belongs to an earlier request with the same Idempotency-Key.',
};

const progressText = [
  ...progressExamples.map((progress) => ['progress', progress] as const),
  ['result', success(awaitedExample)] as const,
]
  .map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  .join('');

/** The OpenAPI description of POST /capture, without body and headers. */
const createCaptureDocument = {
  operationId: 'createCapture',
  tags: ['captures'],
  summary: 'Capture a page',
  description:
    'Renders a page and responds when the capture has completed, with metadata, or with the file when responseType is "file". When background is true, the capture is queued and the response is sent immediately; use GET /captures/{uuid} or a webhook to get the result. With the header "Accept: text/event-stream", and responseType "json", the response is a stream of server-sent events from the moment when the capture is queued: an event progress for each step, whose data is {uuid, region, step} and step is queued, rendering or storing, and at last an event result, whose data is the JSON response, or an event error, whose data is {code, message}; what fails before is answered with its status. A capture costs one token, or two with antiBot. Failed captures and responses from the cache (responseCache) cost nothing.',
  security: [{ apiKey: [] }],
  // Clients can build forms from these groups.
  'x-option-groups': optionGroups,
  'x-link-refusals': [...linkRefusals.keys()],
  response: {
    200: {
      description:
        'Metadata of the completed capture, the file when responseType is "file", the queued capture when background is true, or events of the types progress, result and error.',
      headers: {
        ...requestIdHeader,
        ...rateLimitHeaderSchemas,
        'x-capture-uuid': { type: 'string', format: 'uuid', description: 'UUID of the capture.' },
        'idempotent-replayed': idempotentReplayedHeader,
      },
      content: {
        'application/json': {
          schema: successSchema(Type.Union([captureResultSchema, pendingCaptureSchema])),
          examples: {
            completed: example('Completed', success(awaitedExample)),
            cached: example(
              'Completed, from the cache',
              success({ ...resultExample, fromCache: true, tokenCost: 0, processingTimeMs: 2 }),
            ),
            extracted: example('Completed, with parts of the page', success(extractedExample)),
            queued: example('Queued in the background', success(queuedExample)),
          },
        },
        ...Object.fromEntries(binaryTypes.map((type) => [type, file])),
        [eventStreamType]: { schema: { type: 'string' }, examples: { events: example('Events', progressText) } },
      },
    },
    ...captureFailures,
  },
};
