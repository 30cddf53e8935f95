import { type BucketConfig, isS3 } from '@webcapture/shared/runtime/config.ts';
import { BucketError, bucketReady } from '@webcapture/shared/files/bucket-ready.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { StartError } from './start-error.ts';

/** Returns the location of the files for messages: `gs://bucket/captures/`, with the server if it is not Google's. */
export function bucketAddress(config: BucketConfig): string {
  const { bucket, prefix, endpoint } = config;
  return `${isS3(config) ? 's3' : 'gs'}://${bucket}/${prefix}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
}

/**
 * Checks the bucket before any process starts, so that an error is reported once. Waits while the bucket is
 * unavailable. Throws a StartError.
 */
export async function checkBucket(
  config: BucketConfig,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  // The notes and the error contain the same information as the log.
  const log = createLogger({ service: 'start', pod: 'start', level: 'silent' });
  const store = await openBucket(config, { log });
  note(`files are kept in ${bucketAddress(config)}`);
  try {
    await bucketReady(store, 'all', { signal, log, onWait: note });
  } catch (error) {
    if (!(error instanceof BucketError)) throw error;
    throw new StartError(error.message, { cause: error });
  } finally {
    store.close();
  }
}
