import type { BucketConfig } from '../config/storage.ts';
import type { Logger } from '../telemetry/logger.ts';
import { findCredentials } from './gcs/credentials.ts';
import { GcsClient } from './gcs/gcs-client.ts';
import { GcsStore } from './gcs-store.ts';
import type { StoreMetrics } from './store-metrics.ts';

/** Where Google's JSON API is. */
const googleEndpoint = 'https://storage.googleapis.com';

/** The bucket of a configuration; nothing has been asked of it yet. */
export async function openBucket(
  { bucket, prefix, endpoint, project }: BucketConfig,
  { log, metrics }: { readonly log: Logger; readonly metrics?: StoreMetrics },
): Promise<GcsStore> {
  const client = new GcsClient({
    bucket,
    endpoint: endpoint ?? googleEndpoint,
    credentials: endpoint === undefined ? await findCredentials({ project }) : null,
    log,
    onRetry: (operation, failure) => metrics?.retried(operation, failure),
  });
  return new GcsStore(client, prefix);
}
