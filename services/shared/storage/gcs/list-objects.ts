import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';
import type { ObjectResource } from './object-file.ts';

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
      prefix,
      ...(from === prefix ? {} : { startOffset: from }),
      maxResults: String(Math.min(limit + 1 - objects.length, mostAtOnce)),
      fields: 'items(name,size,timeCreated,customTime,metadata),nextPageToken',
      ...(pageToken === undefined ? {} : { pageToken }),
    };
    const { json } = await client.call('list', { method: 'GET', path: client.objectPath(), query }, limits);
    // An answer of something else than the bucket must not look like the end of the files.
    if (json === null) throw new GcsError('list', { failure: 'connection', detail: 'no listing', transient: true });
    const page = json as { items?: readonly ListedObject[]; nextPageToken?: string };
    objects.push(...(page.items ?? []));
    ({ nextPageToken: pageToken } = page);
  } while (pageToken !== undefined && pageToken !== '' && objects.length <= limit);
  return { objects: objects.slice(0, limit), next: objects[limit]?.name ?? null };
}
