import { type BatchRequest, batchRequestSchema, batchSchema, maxBatchRequests } from '@webcapture/shared/api/batch.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import type { Batches } from '@webcapture/shared/captures/batches.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance } from 'fastify';
import {
  example,
  failureAnswers,
  rateLimitHeaderSchemas,
  requestIdHeader,
  sendData,
  setRateLimitHeaders,
  successAnswer,
} from '../api/answers.ts';
import {
  acceptanceErrorCodes,
  idempotencyDocument,
  idempotentReplayedHeader,
  valuesOf,
  withRateLimitHeaders,
} from '../api/capture.ts';
import { authenticateCapture } from '../api/capture-body.ts';
import { callerOf, clientGone } from '../http/request-facts.ts';
import { type AcceptBatchDeps, type AcceptedBatch, BatchAcceptance } from './accept-batch.ts';
import { explainBatchErrors, fillInRequests, maxBatchValues } from './batch-rules.ts';
import { acceptedBatchExample, batchRequestExample } from './examples.ts';
import { type BatchMetrics, resultOfError } from './metrics.ts';
import { type BatchReadDeps, viewOf } from './read-routes.ts';

export interface CreateBatchDeps extends AcceptBatchDeps, BatchReadDeps {
  readonly batches: Batches;
  readonly batchMetrics: BatchMetrics;
}

/** POST /captures/batch. */
export function createBatchRoute(app: FastifyInstance, deps: CreateBatchDeps): void {
  const { authenticator, batchMetrics: metrics } = deps;
  const acceptance = new BatchAcceptance(deps);
  app.post<{ Body: BatchRequest }>('/captures/batch', {
    schema: { ...createBatchDocument, body: batchRequestSchema },
    config: {
      requestExamples: { pages: example('Three captures with shared options', batchRequestExample) },
      headersDocument: idempotencyDocument,
      shedsLoad: true,
      maxValues: maxBatchValues,
    },
    onRequest: authenticateCapture(authenticator),
    preValidation: async ({ body }) => fillInRequests(body),
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainBatchErrors(errors)),
    handler: async (request, reply) => {
      const { body, facts, raw } = request;
      const idempotencyKeys = valuesOf('idempotency-key', raw.rawHeaders);
      const call = { body, caller: callerOf(request), idempotencyKeys, clientGone: clientGone(reply) };
      const accepted = await facts.trace
        .run(() => acceptance.accept(call, facts))
        .catch((error: unknown) => {
          metrics.batch(resultOfError(error));
          throw error;
        })
        .finally(() => setRateLimitHeaders(reply, facts));
      countBatch(accepted, metrics);
      if (accepted === null) return reply.hijack();
      if (accepted.isReplayed) void reply.header('idempotent-replayed', 'true');
      return sendData(reply, await viewOf(accepted.batch, deps));
    },
  });
}

/** @param accepted null if the client has disconnected */
function countBatch(accepted: AcceptedBatch | null, metrics: BatchMetrics): void {
  if (accepted === null) metrics.batch('client_gone');
  else if (accepted.isReplayed) metrics.batch('replayed');
  else metrics.batch('accepted', accepted.batch.captures.length);
}

/** The OpenAPI description of POST /captures/batch, without the body. */
const createBatchDocument = {
  operationId: 'createBatch',
  tags: ['captures'],
  summary: 'Capture many pages in the background',
  description: `Queues up to ${maxBatchRequests} background captures, and responds with their UUIDs. All requests are validated, and the limits of the account checked for all of them, before the first is queued: an error means that none was accepted, and its message names the request. A batch counts as one request of the rate limit, and each capture for itself against the token quota and the other limits. Each capture costs as much as one of POST /capture, when it completes. A request that the response cache answers costs nothing.`,
  security: [{ apiKey: [] }],
  response: {
    200: {
      ...successAnswer('The batch. Captures that could not be queued have failed.', batchSchema, {
        accepted: example('Three captures', success(acceptedBatchExample)),
      }),
      headers: {
        ...requestIdHeader,
        ...rateLimitHeaderSchemas,
        'idempotent-replayed': idempotentReplayedHeader,
      },
    },
    ...withRateLimitHeaders(failureAnswers(acceptanceErrorCodes)),
  },
};
