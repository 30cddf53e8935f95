import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyReply } from 'fastify';

/** Seconds after which a request that found no place may find one: captures take about as long. */
export const placeSeconds = 2;

/** A queue may be worked off sooner than one can tell. */
const maxWaitSeconds = 3600;

/**
 * What Retry-After says to whoever finds the queue full.
 *
 * @param waitSeconds how long a background capture waits now; null when nobody can tell
 */
export function queueWaitSeconds(waitSeconds: number | null): number {
  return Math.min(maxWaitSeconds, Math.max(placeSeconds, waitSeconds ?? 0));
}

/** Says it, if that is why the request is refused. */
export function tellQueueWait(error: unknown, reply: FastifyReply, waitSeconds: number | null): void {
  if (!(error instanceof ServiceError) || error.code !== 'QUEUE_FULL' || reply.hasHeader('retry-after')) return;
  void reply.header('retry-after', queueWaitSeconds(waitSeconds));
}
