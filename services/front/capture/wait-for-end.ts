import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { timeOfUuid } from '@webcapture/shared/state/uuid.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CacheAnswer } from '../cache/response-cache.ts';
import type { FrontDeps } from '../deps.ts';
import { waitClock } from '../http/facts.ts';
import { tellCapture } from '../http/tell-capture.ts';
import { takePlace } from '../limits/take-place.ts';
import type { Question } from './question.ts';

/**
 * The completed capture, rendered or not, or null when the client has gone.
 *
 * @throws ServiceError what the limits or the queue refuse it with, or the failure of one that failed
 */
export async function waitForEnd(
  { accepted, account, candidate, nameCapture, wantsFile, clientGone }: Question,
  request: FastifyRequest<object>,
  reply: FastifyReply,
  deps: FrontDeps,
): Promise<CacheAnswer | null> {
  const { dispatcher, responseCache } = deps;
  const onWait = waitClock(request.facts);
  const cacheable = {
    account: account.id,
    place: accepted.cache,
    candidate,
    wantsFile,
    lastsMs: dispatcher.deadlineOf(accepted, 0),
    clientGone,
    onWait,
  };
  const end = await responseCache.answer(cacheable, async (lead) => {
    // Only what is rendered counts against the limits.
    const uuid = await nameCapture({ uuid: lead?.uuid });
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
        isolation: account.isolation,
        wantsBytes: wantsFile,
        clientGone,
        place: lead?.place,
        onAccepted: (created) => tellCapture((record = created), request, reply),
        // A front that dies before this leaves nothing that others would have to wait for.
        beforeQueued: () => nameCapture({ uuid, lastsMs: cacheable.lastsMs }),
        onWait: (waiting) => {
          if (waiting) lead?.onQueued();
          onWait(waiting);
        },
      });
      ({ record } = rendered);
      return rendered;
    } finally {
      await place.leave(record);
    }
  });
  if (end === null || clientGone.aborted) return null;
  if (end.fromCache) tellCapture(end.record, request, reply);
  const { failure, status, outcome } = end.record;
  if (failure !== undefined) throw new ServiceError(failure.code, failure.message);
  if (status === 'deleted' && outcome === undefined) {
    throw new ServiceError('CAPTURE_FAILED', 'The capture was deleted while it waited for a renderer.');
  }
  return end;
}
