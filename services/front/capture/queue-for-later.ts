import type { CaptureResult } from '@webcapture/shared/contract/capture-result.ts';
import type { PendingCapture } from '@webcapture/shared/contract/capture-state.ts';
import { pendingView, resultView } from '@webcapture/shared/contract/capture-view.ts';
import { bookingMs } from '@webcapture/shared/state/capture-times.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FrontDeps } from '../deps.ts';
import { tellCapture } from '../http/tell-capture.ts';
import { tellQueueWait } from '../limits/queue-wait.ts';
import { takePlace } from '../limits/take-place.ts';
import type { Question } from './question.ts';

/**
 * Answers a background capture at once: with a capture that is there, or with the place of this one in the queue. It
 * neither leads nor follows equal captures: whoever waits for a picture must not wait for the background.
 *
 * @throws ServiceError what the limits or the queue refuse it with
 */
export async function queueForLater(
  { accepted, account, candidate, nameCapture }: Question,
  request: FastifyRequest<object>,
  reply: FastifyReply,
  deps: FrontDeps,
): Promise<CaptureResult | PendingCapture> {
  const { backgroundQueue, regions, responseCache, config, now } = deps;
  const view = { cdnUrl: config.cdnUrl, now: now() };
  const hit = responseCache.hit(candidate, account.id);
  if (hit !== null) {
    tellCapture(hit, request, reply);
    return resultView(hit, { ...view, fromCacheMs: Math.round(performance.now() - request.facts.startedAt) });
  }
  const uuid = await nameCapture();
  const waitSeconds = regions.estimatedWaitSeconds(accepted.region);
  const { tokenCost: tokens, lane, cache } = accepted;
  const place = await takePlace(
    { account, id: uuid, tokens, lane, until: now() + bookingMs, waitSeconds },
    reply,
    deps,
  );
  try {
    const record = await backgroundQueue.enqueue(accepted, {
      uuid,
      account: account.id,
      isolation: account.isolation,
      place: cache,
    });
    tellCapture(record, request, reply);
    const estimatedWaitSeconds = regions.estimatedWaitSeconds(record.region);
    return { ...pendingView(record, view), estimatedWaitSeconds };
  } catch (error) {
    tellQueueWait(error, reply, waitSeconds);
    throw error;
  } finally {
    await place.leave();
  }
}
