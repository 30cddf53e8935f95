import type { Registry } from 'prom-client';
import type { StorageConfig } from '../config/storage.ts';
import type { NatsSession } from '../nats/connect.ts';
import type { Logger } from '../telemetry/logger.ts';
import { EmbeddedStore } from './embedded-store.ts';
import type { FileStore, StoredFile } from './file-store.ts';
import { bucketReady } from './gcs/bucket-ready.ts';
import type { BucketNeed } from './gcs/bucket-rights.ts';
import { MeasuredStore } from './measured-store.ts';
import { openBucket } from './open-bucket.ts';
import { createStoreMetrics } from './store-metrics.ts';

export interface OpenStoreContext {
  readonly session: NatsSession;
  readonly log: Logger;
  readonly metrics: Registry;
  /** What this service does with files. */
  readonly needs: readonly BucketNeed[];
}

/** Makes a link that opens a file until `expiresAt` (Unix ms), or until the file ends. */
export type SignLink = (file: StoredFile, options: { readonly expiresAt: number }) => Promise<string>;

export interface OpenedStore {
  readonly store: FileStore;
  /** Of a bucket. */
  readonly signLink?: SignLink;
  /**
   * Resolves when the store lets this service do what it needs, waiting for a bucket that is away as long as it takes;
   * `onWait` gets what is waited for. Throws an Error that says what is wrong with the bucket or the rights.
   */
  ready(options: { readonly signal: AbortSignal; readonly onWait: (what: string) => void }): Promise<void>;
  /** Closes connections of its own. */
  close(): void;
}

/** The store that a service is told to use: the bucket, or the embedded one in NATS. */
export async function openStore({ bucket }: StorageConfig, context: OpenStoreContext): Promise<OpenedStore> {
  const { session, log, needs } = context;
  const metrics = createStoreMetrics(context.metrics);
  if (bucket === undefined) {
    const store = new MeasuredStore(new EmbeddedStore(session), metrics);
    return { store, ready: () => Promise.resolve(), close: () => undefined };
  }
  const files = await openBucket(bucket, { log, metrics });
  return {
    store: new MeasuredStore(files, metrics),
    signLink: (file, options) => files.signedUrl(file, options),
    ready: (options) => bucketReady(files, needs, { ...options, log }),
    close: () => files.close(),
  };
}
