import { captureRequestSchema, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { Account } from '@webcapture/shared/state/accounts.ts';
import type { KeptAnswer } from '@webcapture/shared/state/idempotency.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CacheAnswer } from '../cache/response-cache.ts';
import { acceptRequest, type AcceptedRequest } from '../capture/accept-request.ts';
import { resultView } from '@webcapture/shared/contract/capture-view.ts';
import type { FrontDeps } from '../deps.ts';
import { clientGone } from '../http/client-gone.ts';
import type { RequestFacts } from '../http/facts.ts';
import { sendCapture } from '../http/send-capture.ts';
import type { IdempotentAsk, NameCapture } from '../idempotency/idempotency.ts';
import { readIdempotencyKey } from '../idempotency/read-key.ts';
import { replay } from '../idempotency/replay.ts';
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
  const limits = { minRefreshSeconds: config.minRefreshSeconds };

  app.post<{ Body: CaptureRequest }>('/capture', {
    schema: { ...createCaptureDocument, body: captureRequestSchema },
    config: { requestExamples, shedsLoad: true },
    bodyLimit: maxBodyBytes,
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, captureRequestSchema)),
    preValidation: async ({ body }) => limitFields(body),
    handler: async (request, reply) => {
      const accepted = acceptRequest(request.body, { limits, policy });
      const key = readIdempotencyKey(request.raw.rawHeaders);
      const { authorization } = request.headers;
      const candidate = await responseCache.candidate(authorization, accepted.cache);
      const { account } = await authenticator.authenticate(authorization, 'capture', 'UNAUTHORIZED');
      request.facts.account = account.id;
      let outcome: CaptureOutcomeLabel = 'INTERNAL_ERROR';
      try {
        const ask: IdempotentAsk = {
          account: account.id,
          key,
          body: request.body,
          clientGone: clientGone(reply),
          onWait: waitClock(request.facts),
          answerOf: (record) =>
            record.outcome === undefined ? null : answerOf({ record, bytes: null, fromCache: false }, request, deps),
        };
        const answered = await deps.idempotency.answer(ask, async (nameCapture) => {
          const end = await waitForEnd({ accepted, account, candidate, nameCapture }, request, reply, deps);
          return end === null ? null : answerOf(end, request, deps);
        });
        if (answered === null) {
          outcome = 'client_gone';
          return reply.hijack();
        }
        outcome = 'completed';
        if (answered.replayed) return await replay(answered.answer, request, reply, deps);
        return await answer(answered.answer, reply, deps);
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

/** What is to be answered: from the cache, if there is a candidate that still stands, or by rendering. */
interface Question {
  readonly accepted: AcceptedRequest;
  readonly account: Account;
  readonly candidate: CaptureRecord | null;
  readonly nameCapture: NameCapture;
}

/** The completed capture, rendered or not, or null when the client has gone. Throws the failure of one that failed. */
async function waitForEnd(
  { accepted, account, candidate, nameCapture }: Question,
  request: FastifyRequest<{ Body: CaptureRequest }>,
  reply: FastifyReply,
  deps: FrontDeps,
): Promise<CacheAnswer | null> {
  const { facts } = request;
  const { dispatcher, responseCache } = deps;
  const gone = clientGone(reply);
  const wantsFile = request.body.responseType === 'file';
  const onWait = waitClock(facts);
  const tell = (record: CaptureRecord) => {
    facts.record = record;
    void reply.header('x-capture-uuid', record.uuid);
  };
  const cacheable = {
    account: account.id,
    place: accepted.cache,
    candidate,
    wantsFile,
    lastsMs: dispatcher.longestMs(accepted),
    clientGone: gone,
    onWait,
  };
  const end = await responseCache.answer(cacheable, async (lead) => {
    // Only what is rendered counts against the limits.
    const uuid = await nameCapture(lead?.uuid);
    const place = await takePlace({ account, uuid, accepted }, reply, deps);
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
  const { failure } = end.record;
  if (failure !== undefined) throw new ServiceError(failure.code, failure.message);
  return end;
}

/** Told when a wait begins and ends, it adds up what is no time of the front's own. */
function waitClock(facts: RequestFacts): (waiting: boolean) => void {
  let waitingSince = 0;
  return (waiting) => {
    if (waiting) waitingSince = performance.now();
    else facts.waitedMs += performance.now() - waitingSince;
  };
}

/** An answer, with what it was made of. */
interface CaptureAnswer extends KeptAnswer {
  readonly end: CacheAnswer;
}

function answerOf(
  end: CacheAnswer,
  { body, facts }: FastifyRequest<{ Body: CaptureRequest }>,
  { config }: Pick<FrontDeps, 'config'>,
): CaptureAnswer {
  const { uuid, region } = end.record;
  const fromCacheMs = end.fromCache ? Math.round(performance.now() - facts.startedAt) : undefined;
  const isFile = body.responseType === 'file';
  const data = isFile ? null : resultView(end.record, { cdnUrl: config.cdnUrl, now: Date.now(), fromCacheMs });
  return { uuid, region, data, end };
}

function answer(
  { data, end: { record, bytes } }: CaptureAnswer,
  reply: FastifyReply,
  { store }: FrontDeps,
): Promise<FastifyReply> | FastifyReply {
  const { outcome } = record;
  if (data === null && outcome !== undefined) return sendCapture(reply, { record, outcome, bytes }, store);
  return reply.send(success(data));
}
