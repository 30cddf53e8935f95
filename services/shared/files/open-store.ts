import type { Registry } from 'prom-client';
import type { NatsSession } from '../nats/connect.ts';
import type { BucketConfig, StorageConfig } from '../runtime/config.ts';
import type { Logger } from '../runtime/logger.ts';
import { loadStorage } from './bounded-storage.ts';
import { bucketReady } from './bucket-ready.ts';
import { EmbeddedStore } from './embedded-store.ts';
import { EmbeddedUploader } from './embedded-uploader.ts';
import type { FileStore, FileUploader, StoredFile } from './file-store.ts';
import { type BucketNeed, GcsClient } from './gcs-client.ts';
import { GcsStore } from './gcs-store.ts';
import { GcsUploader } from './gcs-uploader.ts';
import { createStoreMetrics, MeasuredStore, MeasuredUploader, type StoreMetrics } from './measured-store.ts';

interface OpenContext {
  readonly session: NatsSession;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Unix milliseconds, of the clock that the times of captures are told by. By default that of this process. */
  readonly now?: () => number;
}

export interface OpenStoreContext extends OpenContext {
  /** What this service does with files. */
  readonly needs: readonly BucketNeed[];
}

/** Makes a link that opens a file until `expiresAt` (Unix ms), or until the file ends. */
export type SignLink = (file: StoredFile, options: { readonly expiresAt: number }) => Promise<string>;

interface Opened {
  /**
   * Resolves when the store lets this service do what it needs, waiting for a bucket that is away as long as it takes;
   * `onWait` gets what is waited for. Throws an Error that says what is wrong with the bucket or the rights.
   */
  ready(options: { readonly signal: AbortSignal; readonly onWait: (what: string) => void }): Promise<void>;
  /** Closes connections of its own. */
  close(): void;
}

export interface OpenedStore extends Opened {
  readonly store: FileStore;
  /** Of a bucket. */
  readonly signLink?: SignLink;
}

export interface OpenedUploader extends Opened, FileUploader {}

/** The store that a trusted service is told to use: the bucket, or the embedded one in NATS. */
export async function openStore({ bucket }: StorageConfig, context: OpenStoreContext): Promise<OpenedStore> {
  const { session, log, needs, now } = context;
  const metrics = createStoreMetrics(context.metrics);
  if (bucket === undefined) {
    const store = new MeasuredStore(new EmbeddedStore(session, now), metrics);
    return { store, ready: () => Promise.resolve(), close: () => undefined };
  }
  const client = await openClient(bucket, { log, metrics });
  const files = new GcsStore(client, bucket.prefix, now);
  return {
    store: new MeasuredStore(files, metrics),
    signLink: (file, options) => files.signedUrl(file, options),
    // By this process's own clock: the server's is not known yet.
    ready: (options) => bucketReady(new GcsStore(client, bucket.prefix), needs, { ...options, log }),
    close: () => client.close(),
  };
}

/** The same store for a service that may create files and do nothing else. */
export async function openUploader({ bucket }: StorageConfig, context: OpenContext): Promise<OpenedUploader> {
  const { session, log, now } = context;
  const metrics = createStoreMetrics(context.metrics);
  const open = (uploader: FileUploader, rest: Opened): OpenedUploader => {
    const measured = new MeasuredUploader(uploader, metrics);
    return { ...rest, upload: (file) => measured.upload(file) };
  };
  if (bucket === undefined) {
    const uploader = new EmbeddedUploader(session, now);
    return open(uploader, { ready: () => Promise.resolve(), close: () => undefined });
  }
  const client = await openClient(bucket, { log, metrics });
  return open(new GcsUploader(client, bucket.prefix, now), {
    ready: (options) => bucketReady(new GcsStore(client, bucket.prefix), ['create'], { ...options, log }),
    close: () => client.close(),
  });
}

interface OpenBucketDeps {
  readonly log: Logger;
  readonly metrics?: StoreMetrics;
}

/** The client of a bucket; nothing has been asked of it yet. */
async function openClient(
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
