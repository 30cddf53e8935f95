import {
  type ApiError,
  type CompletionResult,
  type DirectBatchOptions,
  type DirectLastFor,
  JetStreamApiError,
  type StoredMsg,
} from '@nats-io/jetstream';
import { withDeadline } from '../runtime/deadline.ts';
import { isMessageMissing } from './api-errors.ts';
import type { NatsSession } from './connect.ts';
import { isTombstone } from './entries.ts';
import { bucketStream, keySubject } from './streams.ts';

/** Timeout of a read. Without it, the client would wait forever for a server that dies during its response. */
const limitMs = 15_000;

/**
 * Returns the messages of a stream for a query in one request; an empty list if there are none. Any replica may answer, perhaps without the
 * newest messages. A callback is used, because otherwise the client does not remove its subscription, and each call would leave one behind
 * in the client and on the server.
 */
export async function readBatch(
  { jsm }: Pick<NatsSession, 'jsm'>,
  stream: string,
  query: DirectBatchOptions | DirectLastFor,
): Promise<StoredMsg[]> {
  const found: StoredMsg[] = [];
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const callback = (done: CompletionResult | null, message: StoredMsg) => {
    if (done === null) found.push(message);
    else if (done.err === undefined) resolve();
    else reject(done.err);
  };
  const asked = { ...query, callback };
  const { direct } = jsm;
  const reading = await ('multi_last' in asked
    ? direct.getLastMessagesFor(stream, asked)
    : direct.getBatch(stream, asked));
  try {
    await withDeadline(ended, limitMs, `reading messages of ${stream}`);
    return found;
  } catch (error) {
    if (isMessageMissing(error)) return [];
    throw error;
  } finally {
    reading.stop();
  }
}

/** Maximum number of subjects in a request. The server refuses more than about a thousand. */
const maxSubjects = 500;

/**
 * Yields the values of many keys of a bucket by key. One request follows another, so that few values are in memory at the same time.
 * Missing keys are omitted. Any replica may answer, so values may be slightly outdated.
 *
 * @param atOnce number of keys in a request
 */
export async function* readInParts<T>(
  session: NatsSession,
  bucket: string,
  keys: readonly string[],
  atOnce = maxSubjects,
): AsyncGenerator<ReadonlyMap<string, T>> {
  const prefix = keySubject(bucket, '');
  for (let start = 0; start < keys.length; start += atOnce) {
    const subjects = keys.slice(start, start + atOnce).map((key) => prefix + key);
    const values = new Map<string, T>();
    for (const message of await readBatch(session, bucketStream(bucket), { multi_last: subjects })) {
      if (!isTombstone(message.header)) values.set(message.subject.slice(prefix.length), message.json<T>());
    }
    yield values;
  }
}

/** Returns all values of {@link readInParts} together. */
export async function readMany<T>(
  session: NatsSession,
  bucket: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, T>> {
  const values = new Map<string, T>();
  for await (const part of readInParts<T>(session, bucket, keys))
    for (const [key, value] of part) values.set(key, value);
  return values;
}

/** Returns the keys of a bucket that match a filter with wildcards, in no particular order. */
export async function keysMatching(session: NatsSession, bucket: string, filter: string): Promise<readonly string[]> {
  return (await allKeys(session, bucket, filter)).keys;
}

/** Whether a text can be a token of a key. Texts with wildcards or dots cannot. */
export function isKeyPart(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text);
}

/** Returns one page of a list of ids that sort by time, newest first, with the cursor of the next page. */
export function pageOf(
  ids: readonly string[],
  page: { readonly limit: number; readonly cursor?: string | undefined },
): { readonly ids: readonly string[]; readonly nextCursor: string | null } {
  const { cursor, limit } = page;
  const rest = ids.filter((id) => cursor === undefined || id < cursor).toSorted((a, b) => (a < b ? 1 : -1));
  const shown = rest.slice(0, limit);
  return { ids: shown, nextCursor: rest.length > limit ? (shown.at(-1) ?? null) : null };
}

/** Maximum number of keys in a response of the server (`JSMaxSubjectDetails`). */
const serverLimit = 100_000;

/** An offset beyond all keys. With it, the server returns only their number. */
const noKeys = Number.MAX_SAFE_INTEGER;

const timeoutMs = 5000;

interface InfoReply {
  readonly total?: number;
  readonly state: { readonly subjects?: Readonly<Record<string, number>>; readonly last_seq: number };
}

export interface KeysAt {
  /** The keys are in no particular order. */
  readonly keys: readonly string[];
  /** Stream sequence: keys written up to it are included. */
  readonly sequence: number;
}

/** Returns all keys of a bucket that match a filter with wildcards, from the leader. The number of keys is not limited. */
export async function allKeys(session: NatsSession, bucket: string, filter: string): Promise<KeysAt> {
  const prefix = keySubject(bucket, '');
  const keys: string[] = [];
  for (let sequence: number | undefined; ;) {
    const { total = 0, state } = await subjectInfo(session, bucket, filter, keys.length);
    sequence ??= state.last_seq;
    const page = Object.keys(state.subjects ?? {});
    for (const subject of page) keys.push(subject.slice(prefix.length));
    if (page.length < serverLimit || keys.length >= total) return { keys, sequence };
  }
}

/** Counts the keys of a bucket that match a filter with wildcards, without transferring them. */
export async function countKeys(session: NatsSession, bucket: string, filter: string): Promise<number> {
  return (await subjectInfo(session, bucket, filter, noKeys)).total ?? 0;
}

/** A raw request is sent, because the client's own call always gathers all pages, and merges them slowly. */
async function subjectInfo(
  { nc, apiPrefix }: NatsSession,
  bucket: string,
  filter: string,
  offset: number,
): Promise<InfoReply> {
  const request = { subjects_filter: keySubject(bucket, filter), offset };
  const message = await nc.request(`${apiPrefix}.STREAM.INFO.${bucketStream(bucket)}`, JSON.stringify(request), {
    timeout: timeoutMs,
  });
  const reply = message.json<InfoReply | { readonly error: ApiError }>();
  if ('error' in reply) throw new JetStreamApiError(reply.error);
  return reply;
}
