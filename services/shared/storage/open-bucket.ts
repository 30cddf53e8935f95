import type { BucketConfig } from '../config/storage.ts';
import type { Logger } from '../telemetry/logger.ts';
import { loadStorage } from './gcs/bounded-storage.ts';
import { GcsClient } from './gcs/gcs-client.ts';
import { GcsStore } from './gcs-store.ts';
import type { StoreMetrics } from './store-metrics.ts';

interface OpenBucketDeps {
  readonly log: Logger;
  readonly metrics?: StoreMetrics;
}

/** The client of a bucket; nothing has been asked of it yet. */
export async function openClient(
  { bucket, endpoint, project }: BucketConfig,
  { log, metrics }: OpenBucketDeps,
): Promise<GcsClient> {
  const newStorage = await loadStorage();
  const options = {
    ...(project === undefined ? {} : { projectId: project }),
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint }),
  };
  return new GcsClient({
    bucket,
    open: () => newStorage(options),
    log,
    onRetry: (operation, failure) => metrics?.retried(operation, failure),
  });
}

/** The bucket of a configuration; nothing has been asked of it yet. */
export async function openBucket(config: BucketConfig, deps: OpenBucketDeps): Promise<GcsStore> {
  return new GcsStore(await openClient(config, deps), config.prefix);
}
