import type { Cache } from '../captures/cache.ts';
import type { CaptureRecord } from '../captures/capture-record.ts';
import type { ExpiryIndex } from '../captures/expiry-index.ts';
import { removableNamesOf } from '../files/extracted-file.ts';
import type { FileStore } from '../files/file-store.ts';
import { type DeliveryTask, receiverOf, type Tasks } from './tasks.ts';

/**
 * Schedules what the leader does after the end of a capture or refresh: its expiry, its next refresh, and the event for its webhook. The
 * process that ended it calls this before it acknowledges the result. Repeated calls have no further effect.
 */
export class FollowUps {
  readonly #tasks: Tasks;
  readonly #expiryIndex: ExpiryIndex;

  constructor(tasks: Tasks, expiryIndex: ExpiryIndex) {
    this.#tasks = tasks;
    this.#expiryIndex = expiryIndex;
  }

  async schedule(record: CaptureRecord): Promise<void> {
    const { account, uuid, expiresAt, nextRefreshAt } = record;
    const capture = { account, uuid };
    const arranging: Promise<void>[] = [];
    if (mayLeaveFiles(record)) arranging.push(this.#tasks.publish({ kind: 'expiry', ...capture }));
    // After a refresh, the capture still has an expiry entry, which the leader postpones when it is due. If each refresh added an entry, a
    // page that is kept for ten years would accumulate thousands.
    if (record.status === 'completed' && record.refresh === undefined) {
      arranging.push(this.#expiryIndex.add(capture, expiresAt));
    }
    if (record.status === 'failed' && record.diagnostics !== undefined) {
      arranging.push(this.#expiryIndex.add(capture, record.diagnostics.expiresAt));
    }
    if (record.status === 'completed' && nextRefreshAt !== undefined) {
      arranging.push(this.#tasks.schedule({ kind: 'refresh', ...capture }, nextRefreshAt));
    }
    const delivery = pendingDelivery(record);
    if (delivery?.attempt === 1) arranging.push(this.#tasks.publish(delivery));
    await Promise.all(arranging);
  }
}

/** A failed capture may have left its file if its renderer died, or its HTML. A capture that never started has left neither. */
function mayLeaveFiles({ status, failure, html, cache }: CaptureRecord): boolean {
  if (status === 'deleted') return true;
  const neverBegan = failure?.cancelled === true && html === undefined && cache === undefined;
  return status === 'failed' && !neverBegan;
}

/** Returns the next delivery attempt of an event according to the record; null if there is none. */
export function pendingDelivery({
  account,
  uuid,
  webhook,
}: Pick<CaptureRecord, 'account' | 'uuid' | 'webhook'>): DeliveryTask | null {
  if (webhook === undefined) return null;
  const { state, event, revision, occurredAt, redelivery, attempts, url } = webhook;
  if (state !== 'pending' || event === undefined || revision === undefined || occurredAt === undefined) return null;
  return {
    kind: 'webhook',
    account,
    uuid,
    revision,
    event,
    occurredAt,
    attempt: attempts + 1,
    firstAt: occurredAt,
    ...(redelivery === undefined ? {} : { redelivery }),
    receiver: receiverOf(url),
  };
}

/**
 * Removes everything of a capture except its record. The cache entry is removed first, so that no request is answered with a removed file.
 * Diagnostics of a failed capture stay until they expire.
 */
export async function removeCaptureFiles(
  record: CaptureRecord,
  deps: {
    readonly store: FileStore;
    readonly cache: Cache;
    readonly removeHtml: (name: string) => Promise<void>;
  },
): Promise<void> {
  const { account, uuid, cache: cacheEntry, html } = record;
  if (cacheEntry !== undefined) await deps.cache.drop(account, cacheEntry.name, uuid);
  await Promise.all(removableNamesOf(record).map((name) => deps.store.remove(name)));
  if (html !== undefined) await deps.removeHtml(html);
}
