import { randomUUIDv7 } from 'node:crypto';
import { captureRequestSchema, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/errors/service-error.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CacheAnswer } from '../cache/response-cache.ts';
import { acceptRequest } from '../capture/accept-request.ts';
import { queueForLater, type Question } from '../capture/queue-for-later.ts';
import { resultView } from '@webcapture/shared/contract/capture-view.ts';
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

/** POST /capture, in the order that the interface fixes: validate, cache, key, limits, queue, wait, answer. */
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
      const accepted = acceptRequest(request.body, request.headers, { limits, policy });
      const { authorization } = request.headers;
      const candidate = await responseCache.candidate(authorization, accepted.cache);
      const { account } = await authenticator.authenticate(authorization, 'capture', 'UNAUTHORIZED');
      request.facts.account = account.id;
      let outcome: CaptureOutcomeLabel = 'INTERNAL_ERROR';
      try {
        const question = { accepted, account, candidate };
        if (accepted.lane === 'background') {
          const data = await queueForLater(question, request, reply, deps);
          outcome = data.status === 'queued' ? 'queued' : 'completed';
          return reply.send(success(data));
        }
        const end = await waitForEnd(question, request, reply, deps);
        if (end === null) {
          outcome = 'client_gone';
          return reply.hijack();
        }
        outcome = 'completed';
        return await answer(end, request, reply, deps);
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

/** The completed capture, rendered or not, or null when the client has gone. Throws the failure of one that failed. */
async function waitForEnd(
  { accepted, account, candidate }: Question,
  request: FastifyRequest<{ Body: CaptureRequest }>,
  reply: FastifyReply,
  deps: FrontDeps,
): Promise<CacheAnswer | null> {
  const { facts } = request;
  const { dispatcher, responseCache } = deps;
  const gone = clientGone(reply);
  const wantsFile = request.body.responseType === 'file';
  let waitingSince = 0;
  const onWait = (waiting: boolean) => {
    if (waiting) waitingSince = performance.now();
    else facts.waitedMs += performance.now() - waitingSince;
  };
  const tell = (record: CaptureRecord) => {
    facts.record = record;
    void reply.header('x-capture-uuid', record.uuid);
  };
  const cacheable = {
    account: account.id,
    place: accepted.cache,
    candidate,
    wantsFile,
    lastsMs: dispatcher.deadlineOf(accepted, 0),
    clientGone: gone,
    onWait,
  };
  const end = await responseCache.answer(cacheable, async (lead) => {
    // Only what is rendered counts against the limits.
    const uuid = lead?.uuid ?? randomUUIDv7();
    const until = dispatcher.deadlineOf(accepted, timeOfUuid(uuid) ?? deps.now());
    const place = await takePlace(
      { account, id: uuid, tokens: accepted.tokenCost, lane: 'interactive', until, waitSeconds: null },
      reply,
      deps,
    );
    let record: CaptureRecord | undefined;
    try {
      const rendered = await dispatcher.capture(accepted, {
        uuid,
        account: account.id,
        wantsBytes: wantsFile,
        clientGone: gone,
        place: lead?.place,
        onAccepted: (created) => tell((record = created)),
        onWait,
      });
      ({ record } = rendered);
      return rendered;
    } finally {
      await place.leave(record);
    }
  });
  if (end === null || gone.aborted) return null;
  if (end.fromCache) tell(end.record);
  const { failure, status, outcome } = end.record;
  if (failure !== undefined) throw new ServiceError(failure.code, failure.message);
  if (status === 'deleted' && outcome === undefined) {
    throw new ServiceError('CAPTURE_FAILED', 'The capture was deleted while it waited for a renderer.');
  }
  return end;
}

function answer(
  { record, bytes, fromCache }: CacheAnswer,
  request: FastifyRequest<{ Body: CaptureRequest }>,
  reply: FastifyReply,
  { config, store }: FrontDeps,
): Promise<FastifyReply> | FastifyReply {
  const { outcome } = record;
  if (request.body.responseType === 'file' && outcome !== undefined)
    return sendCapture(reply, { record, outcome, bytes }, store);
  const fromCacheMs = fromCache ? Math.round(performance.now() - request.facts.startedAt) : undefined;
  return reply.send(success(resultView(record, { cdnUrl: config.cdnUrl, now: Date.now(), fromCacheMs })));
}
