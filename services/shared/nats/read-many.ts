import type { NatsSession } from './connect.ts';
import { isTombstone } from './entries.ts';
import { allKeys } from './key-page.ts';
import { readBatch } from './read-batch.ts';

/** The server answers a request for more subjects than about a thousand with an error. */
const chunkSize = 500;

/**
 * The values of many keys of a bucket in one request, by key; what is not there is left out. Any replica may answer: a
 * value can be a moment old.
 */
export async function readMany<T>(
  session: NatsSession,
  bucket: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, T>> {
  const prefix = `$KV.${bucket}.`;
  const values = new Map<string, T>();
  for (let start = 0; start < keys.length; start += chunkSize) {
    const subjects = keys.slice(start, start + chunkSize).map((key) => prefix + key);
    for (const message of await readBatch(session, `KV_${bucket}`, { multi_last: subjects })) {
      if (!isTombstone(message.header)) values.set(message.subject.slice(prefix.length), message.json<T>());
    }
  }
  return values;
}

/** The keys of a bucket that match a filter with wildcards, in no order. */
export async function keysMatching(session: NatsSession, bucket: string, filter: string): Promise<readonly string[]> {
  return (await allKeys(session, bucket, filter)).keys;
}

/** What may stand between the dots of a key: nothing that the server reads as a wildcard. */
export function isKeyPart(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text);
}

/** One part of a list: newest first, by ids that sort by their time, and where the next part begins. */
export function pageOf(
  ids: readonly string[],
  page: { readonly limit: number; readonly cursor?: string | undefined },
): { readonly ids: readonly string[]; readonly nextCursor: string | null } {
  const { cursor, limit } = page;
  const rest = ids.filter((id) => cursor === undefined || id < cursor).toSorted((a, b) => (a < b ? 1 : -1));
  const shown = rest.slice(0, limit);
  return { ids: shown, nextCursor: rest.length > limit ? (shown.at(-1) ?? null) : null };
}
