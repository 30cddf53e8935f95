import { randomUUIDv7 } from 'node:crypto';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { captureRequestSchema, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptRequest, type AcceptedRequest } from '../capture/accept-request.ts';
import { resultView } from '../capture/capture-view.ts';
import type { CaptureEnd } from '../capture/dispatcher.ts';
import type { FrontDeps } from '../deps.ts';
import { clientGone } from '../http/client-gone.ts';
import { sendCapture } from '../http/send-capture.ts';
import { takePlace } from '../limits/take-place.ts';
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

/** POST /capture, in the order that the interface fixes: validate, key, limits, queue, wait, answer. */
export function captureRoute(app: FastifyInstance, deps: FrontDeps): void {
  const { config, authenticator, policy } = deps;
  const limits = { minRefreshSeconds: config.minRefreshSeconds };

  app.post<{ Body: CaptureRequest }>('/capture', {
    schema: { ...createCaptureDocument, body: captureRequestSchema },
    config: { requestExamples, shedsLoad: true },
    bodyLimit: maxBodyBytes,
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, captureRequestSchema)),
    preValidation: async ({ body }) => limitFields(body),
    handler: async (request, reply) => {
      const accepted = acceptRequest(request.body, request.headers, { limits, policy });
      const { authorization } = request.headers;
      const { account } = await authenticator.authenticate(authorization, 'capture', 'UNAUTHORIZED');
      request.facts.account = account.id;
      let outcome: CaptureOutcomeLabel = 'INTERNAL_ERROR';
      try {
        const end = await waitForEnd(accepted, account, request, reply, deps);
        if (end === null) {
          outcome = 'client_gone';
          return reply.hijack();
        }
        outcome = 'completed';
        return await answer(end, request.body.responseType, reply, deps);
      } catch (error) {
        outcome = toServiceError(error).code;
        throw error;
      } finally {
        const region = request.facts.record?.region ?? 'none';
        deps.metrics.capture({ outcome, region, format: accepted.format });
      }
    },
  });
}

/** The completed capture, or null when the client has gone. Throws the failure of one that failed. */
async function waitForEnd(
  accepted: AcceptedRequest,
  account: Account,
  request: FastifyRequest<{ Body: CaptureRequest }>,
  reply: FastifyReply,
  deps: FrontDeps,
): Promise<CaptureEnd | null> {
  const { facts } = request;
  const gone = clientGone(reply);
  const uuid = randomUUIDv7();
  const place = await takePlace({ account, uuid, accepted }, reply, deps);
  let record: CaptureRecord | undefined;
  let waitingSince = 0;
  try {
    const end = await deps.dispatcher.capture(accepted, {
      uuid,
      account: account.id,
      wantsBytes: request.body.responseType === 'file',
      clientGone: gone,
      onAccepted: (accepted) => {
        record = accepted;
        facts.record = accepted;
        void reply.header('x-capture-uuid', uuid);
      },
      onWait: (waiting) => {
        if (waiting) waitingSince = performance.now();
        else facts.waitedMs += performance.now() - waitingSince;
      },
    });
    ({ record } = end);
    if (gone.aborted) return null;
    const { failure } = end.record;
    if (failure !== undefined) throw new ServiceError(failure.code, failure.message);
    return end;
  } finally {
    await place.leave(record);
  }
}

function answer(
  { record, bytes }: CaptureEnd,
  responseType: CaptureRequest['responseType'],
  reply: FastifyReply,
  { config, store }: FrontDeps,
): Promise<FastifyReply> | FastifyReply {
  const { outcome } = record;
  if (responseType === 'file' && outcome !== undefined) return sendCapture(reply, { record, outcome, bytes }, store);
  return reply.send(success(resultView(record, { cdnUrl: config.cdnUrl, now: Date.now() })));
}
