import type { Registry } from 'prom-client';
import type { NatsSession } from '../nats/connect.ts';
import { type BucketConfig, isS3, type StorageConfig } from '../runtime/config.ts';
import type { Logger } from '../runtime/logger.ts';
import { loadStorage } from './bounded-storage.ts';
import { bucketReady, type BucketUse } from './bucket-ready.ts';
import type { BucketClientOptions } from './bucket-client.ts';
import { EmbeddedStore } from './embedded-store.ts';
import { EmbeddedUploader } from './embedded-uploader.ts';
import type { FileStore, FileUploader, StoredFile } from './file-store.ts';
import { GcsBucket } from './gcs-bucket.ts';
import type { ObjectBucket } from './object-bucket.ts';
import { loadS3, S3Bucket } from './s3-bucket.ts';
import { BucketStore } from './bucket-store.ts';
import { BucketUploader } from './bucket-uploader.ts';
import { createStoreMetrics, measuredStore, measuredUploader, type StoreMetrics } from './measured-store.ts';

/** Values of the process with which a store is created. */
interface Context {
  readonly session: NatsSession;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Creates a link that opens a file until `expiresAt` (Unix ms), or until the file expires. */
export type SignLink = (file: StoredFile, options: { readonly expiresAt: number }) => Promise<string>;

interface Opened {
  /**
   * Resolves when this service has the rights that it needs on the store. Waits without a limit for an unavailable bucket, and calls
   * `onWait` with the reason. Throws an Error that names the problem if the bucket or the rights are wrong.
   */
  ready(options: { readonly signal: AbortSignal; readonly onWait: (what: string) => void }): Promise<void>;
  /** Closes the store's connections. */
  close(): void;
}

/** Opens the store of a trusted service: the bucket, or the embedded store in NATS. Files expire by the clock of the NATS server. */
export async function openStore(
  { bucket }: StorageConfig,
  { session, log, metrics: registry }: Context,
): Promise<Opened & { readonly store: FileStore; readonly signLink?: SignLink }> {
  const metrics = createStoreMetrics(registry);
  if (bucket === undefined) return { store: measuredStore(new EmbeddedStore(session), metrics), ...alwaysReady };
  const client = await openClient(bucket, { log, metrics });
  const files = new BucketStore(client, session.now);
  return {
    store: measuredStore(files, metrics),
    signLink: (file, options) => files.signedUrl(file, options),
    ...openedBucket(client, 'all', log),
  };
}

/** Opens the same store for a service that may only create files. */
export async function openUploader(
  { bucket }: StorageConfig,
  { session, log, metrics: registry }: Context,
): Promise<Opened & FileUploader> {
  const metrics = createStoreMetrics(registry);
  if (bucket === undefined) return { ...measuredUploader(new EmbeddedUploader(session), metrics), ...alwaysReady };
  const client = await openClient(bucket, { log, metrics });
  const uploader = new BucketUploader(client, session.now);
  return { ...measuredUploader(uploader, metrics), ...openedBucket(client, 'create', log) };
}

/** The embedded store uses the connection to NATS. */
const alwaysReady: Opened = { ready: () => Promise.resolve(), close: () => undefined };

const openedBucket = (client: ObjectBucket, use: BucketUse, log: Logger): Opened => ({
  // The clock of this process is used, because that of the server is not known yet.
  ready: (options) => bucketReady(new BucketStore(client), use, { ...options, log }),
  close: () => client.close(),
});

interface OpenBucketDeps {
  readonly log: Logger;
  readonly metrics?: StoreMetrics;
}

/** Opens a bucket without sending a request. */
async function openClient(config: BucketConfig, { log, metrics }: OpenBucketDeps): Promise<ObjectBucket> {
  const { bucket, prefix, endpoint } = config;
  const options: BucketClientOptions = {
    bucket,
    prefix,
    log,
    onRetry: (operation, failure) => metrics?.retried(operation, failure),
  };
  if (isS3(config)) {
    const server = endpoint === undefined ? {} : { endpoint, forcePathStyle: true };
    return new S3Bucket({ ...options, s3: await loadS3(), config: { region: config.region, ...server } });
  }
  const newStorage = await loadStorage();
  const library = {
    ...(config.project === undefined ? {} : { projectId: config.project }),
    ...(endpoint === undefined ? {} : { apiEndpoint: endpoint }),
  };
  return new GcsBucket({ ...options, open: () => newStorage(library) });
}

/** Opens the configured bucket without sending a request. */
export async function openBucket(config: BucketConfig, deps: OpenBucketDeps): Promise<BucketStore> {
  return new BucketStore(await openClient(config, deps));
}
