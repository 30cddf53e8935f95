import { captureResultSchema } from '@webcapture/shared/contract/capture-result.ts';
import { pendingCaptureSchema } from '@webcapture/shared/contract/capture-state.ts';
import { success, successSchema } from '@webcapture/shared/contract/envelope.ts';
import { mimeTypes } from '@webcapture/shared/contract/formats.ts';
import { example, failureAnswers, rateLimitHeaders, type AnswerDocument } from './answers.ts';
import { Type } from 'typebox';
import { queuedExample, resultExample } from './examples.ts';

const file = { schema: { type: 'string', format: 'binary' } };

/** What the document says of POST /capture, but for its body. */
export const createCaptureDocument = {
  operationId: 'createCapture',
  tags: ['captures'],
  summary: 'Capture a page',
  description:
    'Renders the page and answers when the capture is there: with its metadata, or with responseType "file" with the file itself. With background true it answers at once with the place in the queue: follow it by GET /captures/{uuid}, or have a webhook told. Costs one token, with antiBot two; a capture that fails costs nothing, and neither does an answer from the cache (responseCache).',
  security: [{ apiKey: [] }],
  // Checked by the route, which can say what is allowed.
  headers: {
    type: 'object',
    properties: {
      'idempotency-key': {
        type: 'string',
        description:
          'Makes it safe to send the request again: within 24 hours the same key with the same body is answered as the first time, at no cost. A request under the same key at the same time waits for the first one. Another body under the same key is a 400. Failures are not kept. 1 to 255 visible ASCII characters.',
      },
    },
  },
  response: {
    200: {
      description:
        'The capture: its metadata, with responseType "file" the file, with background its place in the queue.',
      headers: {
        'x-request-id': { type: 'string', description: 'The id of the request, for the operator.' },
        ...rateLimitHeaders,
        'x-capture-uuid': { type: 'string', format: 'uuid', description: 'The uuid of the capture.' },
        'idempotent-replayed': {
          type: 'string',
          enum: ['true'],
          description:
            'There when an earlier request with the same Idempotency-Key was answered so, or would have been.',
        },
      },
      content: {
        'application/json': {
          schema: successSchema(Type.Union([captureResultSchema, pendingCaptureSchema])),
          examples: {
            completed: example('A capture', success(resultExample)),
            cached: example(
              'From the cache',
              success({ ...resultExample, fromCache: true, tokenCost: 0, processingTimeMs: 2 }),
            ),
            queued: example('In the background', success(queuedExample)),
          },
        },
        ...Object.fromEntries(Object.values(mimeTypes).map((type) => [type, file])),
      },
    },
    ...withRateLimitHeaders(
      failureAnswers([
        'VALIDATION_ERROR',
        'URL_BLOCKED',
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
      ]),
    ),
  },
};

/** On the answers to requests that came as far as the rate limit. */
function withRateLimitHeaders(answers: Record<number, AnswerDocument>): Record<number, AnswerDocument> {
  const entries = Object.entries(answers).map(([status, answer]) =>
    ['402', '429', '500'].includes(status)
      ? [status, { ...answer, headers: { ...answer.headers, ...rateLimitHeaders } }]
      : [status, answer],
  );
  return Object.fromEntries(entries) as Record<number, AnswerDocument>;
}
