import type { CaptureRecord } from '../contract/capture-record.ts';
import type { FileStore } from '../storage/file-store.ts';
import type { Cache } from './cache.ts';

export interface ClearAwayDeps {
  readonly store: Pick<FileStore, 'remove'>;
  readonly cache: Pick<Cache, 'drop'>;
  readonly removeHtml: (name: string) => Promise<void>;
}

/** Removes everything of a capture but its record: the cache entry first, so that nobody is sent to a file that is gone. */
export async function clearAway(
  { account, uuid, cache: place, fileName, html }: CaptureRecord,
  { store, cache, removeHtml }: ClearAwayDeps,
): Promise<void> {
  if (place !== undefined) await cache.drop(account, place.name, uuid);
  await store.remove(fileName);
  if (html !== undefined) await removeHtml(html);
}
