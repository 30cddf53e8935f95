import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import { reservationMs } from '@webcapture/shared/captures/times.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import { type Admission, type Reservation, withRetryAfter } from '../admission.ts';
import type { CaptureRouteDeps } from '../api/capture.ts';
import type { Caller } from '../auth/authenticator.ts';
import { type AcceptDeps, bytesAddedBy } from '../capture/accept-request.ts';
import type { BackgroundQueue } from '../capture/background-queue.ts';
import type { RegionSelector } from '../capture/regions.ts';
import type { RequestFacts } from '../http/request-facts.ts';
import { type BatchOrder, withIndex } from './batch-rules.ts';

export interface QueueOrdersDeps extends AcceptDeps {
  readonly admission: Admission;
  readonly backgroundQueue: BackgroundQueue;
  readonly regions: RegionSelector;
  readonly metrics: CaptureRouteDeps['metrics'];
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
}

/** A capture of a batch that is queued. */
export interface QueuedOrder extends BatchOrder {
  readonly index: number;
  readonly uuid: string;
}

interface ReservedOrder extends QueuedOrder {
  readonly reservation: Reservation;
}

/** Number of captures that are queued, or looked up, concurrently. */
export const parallel = 32;

/** Number of captures whose limits are checked together, in one write of the account's limits. */
const admittedAtOnce = 100;

/** Time in which the front queues the captures of a batch. It equals the lifetime of their reservations. */
const queueMs = reservationMs;

export function queuedOrders(orders: readonly BatchOrder[], uuids: readonly string[]): readonly QueuedOrder[] {
  return orders.flatMap((order, index) => {
    const uuid = uuids[index];
    return uuid === undefined ? [] : [{ ...order, index, uuid }];
  });
}

/**
 * Reserves the limits for all captures, or for none of them. The batch counts as one request of the rate limit.
 *
 * @throws ServiceError the first refusal
 */
export async function admitAll(
  orders: readonly QueuedOrder[],
  { account }: Caller,
  facts: RequestFacts,
  { admission, regions, now }: QueueOrdersDeps,
): Promise<readonly ReservedOrder[]> {
  const until = now() + queueMs;
  const admit = async (order: QueuedOrder, position: number) => {
    const { accepted, index, uuid } = order;
    const { tokenCost: tokens, priority, region } = accepted;
    const waitSeconds = regions.estimatedWaitSeconds(region);
    const reserve = { id: uuid, tokens, priority, until, adds: bytesAddedBy(accepted), waitSeconds };
    // Only the first capture counts for the rate limit. The limiter decides in the order of the calls, so `facts` gets the limit directly
    // after that capture.
    const isFirst = position === 0;
    try {
      const request = isFirst ? reserve : { ...reserve, unrated: true };
      return { ...order, reservation: await admission.admit(account, request, isFirst ? facts : {}) };
    } catch (error) {
      const isRate = error instanceof ServiceError && error.code === 'RATE_LIMIT_EXCEEDED';
      throw isRate ? error : withIndex(error, index);
    }
  };
  const reserved: ReservedOrder[] = [];
  for (let start = 0; start < orders.length; start += admittedAtOnce) {
    const some = orders.slice(start, start + admittedAtOnce);
    const results = await Promise.allSettled(some.map((order, offset) => admit(order, start + offset)));
    reserved.push(...results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) continue;
    await releaseAll(reserved);
    throw failed.reason;
  }
  return reserved;
}

/** Queues captures, and releases their reservations. Returns the failures by the index of their request. */
export async function queueAll(
  batch: BatchRecord,
  orders: readonly ReservedOrder[],
  { account, key }: Caller,
  { backgroundQueue, regions, secretsKeys, metrics, now }: QueueOrdersDeps,
): Promise<ReadonlyMap<number, ServiceError>> {
  const { id, isolation } = account;
  const until = Math.min(now() + queueMs, batch.acceptUntil);
  const turns = new Semaphore(parallel);
  const refused = new Map<number, ServiceError>();
  const queue = async ({ accepted, index, uuid, reservation }: ReservedOrder) => {
    const { cacheKey, region, options } = accepted;
    const { format } = options;
    try {
      if (now() > until) throw new ServiceError('INTERNAL_ERROR', 'The capture could not be queued in time.');
      const capture = { uuid, account: id, key: key.id, isolation, cacheKey, batch: batch.uuid, secretsKeys };
      const record = await backgroundQueue.enqueue(accepted, capture);
      metrics.capture({ outcome: 'queued', cause: 'none', region: record.region, format });
    } catch (error) {
      const refusal = toServiceError(withRetryAfter(error, regions.estimatedWaitSeconds(region)));
      refused.set(index, refusal);
      metrics.capture({ outcome: refusal.code, cause: refusal.causedBy, region: 'none', format });
    } finally {
      await reservation.release();
    }
  };
  await Promise.all(orders.map((order) => turns.run(() => queue(order))));
  return refused;
}

export async function releaseAll(orders: readonly ReservedOrder[]): Promise<void> {
  await Promise.all(orders.map(({ reservation }) => reservation.release()));
}
