import { untilAborted } from '../../lifecycle/until-aborted.ts';
import type { GcsClient } from './gcs-client.ts';
import { GcsError, isObjectMissing, mayBeMissing } from './gcs-error.ts';

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
