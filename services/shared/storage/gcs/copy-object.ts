import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';
import { objectFields, resourceIn, type ObjectResource } from './object-file.ts';

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
  const path = `${client.objectPath(source)}/rewriteTo${client.objectPath(destination).slice('/storage/v1'.length)}`;
  const query = {
    sourceGeneration,
    ifSourceGenerationMatch: sourceGeneration,
    ifGenerationMatch: expected,
    fields: `done,rewriteToken,resource(${objectFields})`,
  };
  const body = [Buffer.from(JSON.stringify(description))];
  const headers = { 'content-type': 'application/json; charset=UTF-8' };
  // A large object between places or storage classes is copied in several calls.
  let rewriteToken: string | undefined;
  return client.retry('create', limits, async (signal) => {
    for (;;) {
      const asked = { ...query, ...(rewriteToken === undefined ? {} : { rewriteToken }) };
      const request = { method: 'POST', path, query: asked, headers, body, accept: [412] } as const;
      try {
        const { status, json } = await client.ask('create', request, signal);
        if (status === 412) return 'conflict';
        const answer = (json ?? {}) as { done?: boolean; rewriteToken?: string; resource?: unknown };
        if (answer.done !== false) return resourceIn('create', answer.resource);
        rewriteToken = answer.rewriteToken;
      } catch (error) {
        // A missing bucket is told of at the start of a service: here it is the source.
        if (error instanceof GcsError && error.status === 404) return 'missing';
        throw error;
      }
    }
  });
}
