import { captureRequestSchema, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyInstance } from 'fastify';
import { acceptRequest } from '../capture/accept-request.ts';
import { answerOfEnd, answerOfRecord, queuedAnswer, type CaptureAnswer } from '../capture/capture-answer.ts';
import type { Question } from '../capture/question.ts';
import { queueForLater } from '../capture/queue-for-later.ts';
import { waitForEnd } from '../capture/wait-for-end.ts';
import type { FrontDeps } from '../deps.ts';
import { clientGone } from '../http/client-gone.ts';
import { waitClock } from '../http/facts.ts';
import { sendCapture } from '../http/send-capture.ts';
import type { IdempotentAsk } from '../idempotency/idempotency.ts';
import { readIdempotencyKey } from '../idempotency/read-key.ts';
import { replay } from '../idempotency/replay.ts';
import type { CaptureOutcomeLabel } from '../metrics.ts';
import { createCaptureDocument } from '../openapi/create-capture.ts';
import { requestExamples } from '../openapi/examples.ts';
import { explainErrors } from '../validation/explain-errors.ts';
import { limitFields } from '../validation/limit-fields.ts';

/**
 * The most bytes of a body: room for the longest html in four bytes a character, and again as much for JSON's escapes.
 * Only a client that escapes what needs no escaping could send more than that.
 */
export const maxBodyBytes = 8 * 1024 * 1024;

/**
 * POST /capture, in the order that the interface fixes: validate, cache, key, an earlier answer to the same
 * Idempotency-Key, limits, queue, wait, answer.
 */
export function captureRoute(app: FastifyInstance, deps: FrontDeps): void {
  const { config, authenticator, policy, responseCache } = deps;
  const { minRefreshSeconds, persistenceSeconds } = config;
  const limits = { minRefreshSeconds, persistenceSeconds };

  app.post<{ Body: CaptureRequest }>('/capture', {
    schema: { ...createCaptureDocument, body: captureRequestSchema },
    config: { requestExamples, shedsLoad: true },
    bodyLimit: maxBodyBytes,
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, captureRequestSchema)),
    preValidation: async ({ body }) => limitFields(body),
    handler: async (request, reply) => {
      const { body, facts, headers } = request;
      const accepted = acceptRequest(body, { limits, policy });
      const key = readIdempotencyKey(request.raw.rawHeaders);
      const { authorization } = headers;
      const candidate = await responseCache.candidate(authorization, accepted.cache);
      const { account } = await authenticator.authenticate(authorization, 'capture', 'UNAUTHORIZED');
      facts.account = account.id;
      let outcome: CaptureOutcomeLabel = 'INTERNAL_ERROR';
      try {
        const gone = clientGone(reply);
        const wantsFile = body.responseType === 'file';
        const view = { wantsFile, cdnUrl: config.cdnUrl, startedAt: facts.startedAt, now: deps.now };
        const ask: IdempotentAsk = {
          account: account.id,
          key,
          body,
          clientGone: gone,
          onWait: waitClock(facts),
          answerOf: (record) => answerOfRecord(record, view),
        };
        const answered = await deps.idempotency.answer(ask, async (nameCapture): Promise<CaptureAnswer | null> => {
          const question: Question = { accepted, account, candidate, nameCapture, wantsFile, clientGone: gone };
          if (accepted.lane === 'background') return queuedAnswer(await queueForLater(question, request, reply, deps));
          const end = await waitForEnd(question, request, reply, deps);
          return end === null ? null : answerOfEnd(end, view);
        });
        if (answered === null) {
          outcome = 'client_gone';
          return reply.hijack();
        }
        const { data } = answered.answer;
        outcome = data?.status === 'queued' ? 'queued' : 'completed';
        if (answered.replayed) return await replay(answered.answer, request, reply, deps);
        const { file } = answered.answer;
        return file === undefined ? reply.send(success(data)) : await sendCapture(reply, file, deps.store);
      } catch (error) {
        outcome = toServiceError(error).code;
        throw error;
      } finally {
        deps.metrics.capture({ outcome, region: facts.record?.region ?? 'none', format: accepted.format });
      }
    },
  });
}
