import { JetStreamApiError, type ApiError } from '@nats-io/jetstream';
import type { NatsSession } from './connect.ts';

/** The server answers at most so many keys at once (`JSMaxSubjectDetails`). */
const serverLimit = 100_000;

/** Beyond any number of keys: asks for their number alone. */
const noKeys = Number.MAX_SAFE_INTEGER;

const timeoutMs = 5000;

interface InfoReply {
  readonly total?: number;
  readonly state: { readonly subjects?: Readonly<Record<string, number>>; readonly last_seq: number };
}

export interface KeysAt {
  /** In no order. */
  readonly keys: readonly string[];
  /** Stream sequence: what was written up to it is among the keys. */
  readonly sequence: number;
}

/** The keys of a bucket that match a filter with wildcards, however many, as the leader knows them. */
export async function allKeys(session: NatsSession, bucket: string, filter: string): Promise<KeysAt> {
  const prefix = `$KV.${bucket}.`;
  const keys: string[] = [];
  for (let sequence: number | undefined; ;) {
    const { total = 0, state } = await subjectInfo(session, bucket, filter, keys.length);
    sequence ??= state.last_seq;
    const page = Object.keys(state.subjects ?? {});
    for (const subject of page) keys.push(subject.slice(prefix.length));
    if (page.length < serverLimit || keys.length >= total) return { keys, sequence };
  }
}

/** How many keys of a bucket match a filter with wildcards, without sending them. */
export async function countKeys(session: NatsSession, bucket: string, filter: string): Promise<number> {
  return (await subjectInfo(session, bucket, filter, noKeys)).total ?? 0;
}

/** The client's own call always gathers all the pages, and merges them slowly: so this is the raw request. */
async function subjectInfo({ nc }: NatsSession, bucket: string, filter: string, offset: number): Promise<InfoReply> {
  const request = { subjects_filter: `$KV.${bucket}.${filter}`, offset };
  const message = await nc.request(`$JS.API.STREAM.INFO.KV_${bucket}`, JSON.stringify(request), { timeout: timeoutMs });
  const reply = message.json<InfoReply | { readonly error: ApiError }>();
  if ('error' in reply) throw new JetStreamApiError(reply.error);
  return reply;
}
