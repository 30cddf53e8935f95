import { buffer } from 'node:stream/consumers';
import type { Bucket, FileOptions } from '@google-cloud/storage';
import { untilAborted } from '../../lifecycle/until-aborted.ts';
import { readStream } from './bounded-storage.ts';
import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError, isObjectMissing, mayBeMissing } from './gcs-error.ts';
import { resourceIn, type ObjectResource } from './object-file.ts';

/**
 * What an attempt at an object resolves with; null when the object is not there. To whoever may not list, a bucket says 403
 * instead of 404, so as not to tell which names there are. That is believed while the bucket grants what was refused.
 */
export async function orMissing<T>(client: GcsClient, attempt: Promise<T>, signal: AbortSignal): Promise<T | null> {
  try {
    return await attempt;
  } catch (error) {
    if (!(error instanceof GcsError)) throw error;
    if (isObjectMissing(error)) return null;
    const right = `storage.objects.${error.operation}`;
    if (mayBeMissing(error) && (await untilAborted(client.rights.has(right), signal))) return null;
    throw error;
  }
}

/** What an object is described by; null when it is not there. Throws a GcsError. */
export function getObject(client: GcsClient, name: string, limits: GcsLimits): Promise<ObjectResource | null> {
  return client.retry('get', limits, async (signal) => {
    const asking = client.attempt('get', signal, (bucket) => bucket.file(name).getMetadata());
    const answer = await orMissing(client, asking, signal);
    return answer === null ? null : resourceIn('get', answer[0]);
  });
}

/** The first bytes of an object, at most `length`; null when it is not there. Throws a GcsError. */
export function readHead(
  client: GcsClient,
  { name, generation }: { readonly name: string; readonly generation: string },
  length: number,
  limits: GcsLimits,
): Promise<Buffer | null> {
  const range = { start: 0, end: length - 1 };
  return client.retry('get', limits, async (signal) => {
    const asking = client.attempt('get', signal, (bucket) =>
      buffer(readStream(bucket.file(name, { generation }), range)),
    );
    try {
      return await orMissing(client, asking, signal);
    } catch (error) {
      // Of an empty object there is no range.
      if (error instanceof GcsError && error.status === 416) return Buffer.alloc(0);
      throw error;
    }
  });
}

/** Deletes an object, of that generation if one is named; what is not there is no error. Throws a GcsError. */
export function deleteObject(
  client: GcsClient,
  { name, generation }: { readonly name: string; readonly generation?: string },
  limits: GcsLimits,
): Promise<void> {
  const options: FileOptions = generation === undefined ? {} : { preconditionOpts: { ifGenerationMatch: generation } };
  return client.retry('delete', limits, async (signal) => {
    const deleting = client.attempt('delete', signal, (bucket) => bucket.file(name, options).delete());
    try {
      await orMissing(client, deleting, signal);
    } catch (error) {
      if (!(error instanceof GcsError) || error.status !== 412) throw error;
    }
  });
}

type BucketRequest = Parameters<Bucket['request']>[0];

export interface ObjectCopy {
  /** The object to be copied, prefix and all, and the generation that it must have. */
  readonly source: string;
  readonly sourceGeneration: string;
  readonly destination: string;
  /** The generation that the destination must have now; `0`: there must be none. */
  readonly expected: string;
  /** What the copy is described by: nothing of the description of the source is kept. */
  readonly description: object;
}

/**
 * Copies an object within the bucket: no byte leaves it, and readers get the object of before or the new one. Resolves with
 * the copy; `conflict` when the destination or the source has another generation, which may come of an attempt of
 * this very call whose answer was lost, and `missing` when there is no source. Throws a GcsError.
 */
export function copyObject(
  client: GcsClient,
  { source, sourceGeneration, destination, expected, description }: ObjectCopy,
  limits: GcsLimits,
): Promise<ObjectResource | 'conflict' | 'missing'> {
  const conditions = { ifGenerationMatch: expected, ifSourceGenerationMatch: sourceGeneration };
  return client.retry('create', limits, async (signal) => {
    try {
      const [, answer] = await client.attempt('create', signal, ({ storage, name }) => {
        const bucket = storage.bucket(name);
        // A large object between places or storage classes is copied in several calls; of those that follow the first
        // one, the library tells neither conditions nor description.
        bucket.interceptors.push({
          request: (options) =>
            ({ ...options, qs: { ...options.qs, ...conditions }, json: description }) as BucketRequest,
        });
        return bucket.file(source, { generation: sourceGeneration }).copy(bucket.file(destination));
      });
      return resourceIn('create', (answer as { readonly resource?: unknown }).resource);
    } catch (error) {
      if (!(error instanceof GcsError)) throw error;
      if (error.status === 412) return 'conflict';
      // A missing bucket is told of at the start of a service: here it is the source.
      if (error.status === 404) return 'missing';
      throw error;
    }
  });
}

export type ListedObject = Pick<ObjectResource, 'name' | 'size' | 'timeCreated' | 'customTime' | 'metadata'>;

/** The most that a bucket lists at a time. */
const mostAtOnce = 1000;

/**
 * At most `limit` objects of a prefix by name, `from` that name on, and the name of the first one after them, null when
 * there is none. The bucket may answer with fewer than it was asked for, though there are more.
 */
export async function listObjects(
  client: GcsClient,
  { prefix, from, limit }: { readonly prefix: string; readonly from: string; readonly limit: number },
  limits: GcsLimits,
): Promise<{ readonly objects: readonly ListedObject[]; readonly next: string | null }> {
  const objects: ListedObject[] = [];
  let pageToken: string | undefined;
  do {
    const query = {
      autoPaginate: false,
      prefix,
      ...(from === prefix ? {} : { startOffset: from }),
      maxResults: Math.min(limit + 1 - objects.length, mostAtOnce),
      fields: 'items(name,size,timeCreated,customTime,metadata),nextPageToken',
      ...(pageToken === undefined ? {} : { pageToken }),
    };
    const [files, next] = await client.call('list', limits, (bucket) => bucket.getFiles(query));
    // Where fields are named, the library hands on what the bucket says.
    objects.push(...(files as unknown as readonly ListedObject[]));
    ({ pageToken } = (next ?? {}) as { pageToken?: string });
  } while (pageToken !== undefined && pageToken !== '' && objects.length <= limit);
  return { objects: objects.slice(0, limit), next: objects[limit]?.name ?? null };
}
