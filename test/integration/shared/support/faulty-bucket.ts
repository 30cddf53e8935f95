import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { loadStorage } from '@webcapture/shared/files/bounded-storage.ts';
import { GcsBucket, type GcsOptions } from '@webcapture/shared/files/gcs-bucket.ts';
import { ObjectError } from '@webcapture/shared/files/object-error.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../../harness/bucket.ts';
import { googleError, startFaultProxy, type FaultProxy, type SeenRequest } from '../../../harness/fault-proxy.ts';
import { silentLog } from '../../../harness/nats-session.ts';
import { bytesOf } from './stored-files.ts';

export const megabyte = 1024 * 1024;

/** Silence timeout for tests of silence only, because a slow machine may also be silent for 250 ms. */
const silenceMs = 250;

export const busy = googleError(503, 'backendError', 'Backend Error');

export const uploads = ({ method }: SeenRequest) => method === 'POST' || method === 'PUT';
export const downloads = ({ url }: SeenRequest) => url.searchParams.get('alt') === 'media';

export interface FaultyBucket {
  readonly bucket: TestBucket;
  /** The proxy through which the stores reach the bucket. */
  readonly proxy: FaultProxy;
  readonly store: BucketStore;
  readonly uploader: BucketUploader;
  /** A store with a silence timeout of 250 ms. */
  readonly impatient: BucketStore;
  /** The retries, as `<operation> <failure>`. */
  readonly retries: string[];
  storeWith(changes?: Partial<GcsOptions> & { readonly endpoint?: string }): BucketStore;
  /** Returns whether the bucket has the file with these bytes. */
  isStored(file: { readonly name: string; readonly bytes: Buffer }): Promise<boolean>;
  /** Returns how many matching requests the proxy has received. */
  sent(match: (request: SeenRequest) => boolean): number;
}

/** Gives the tests of a file a real bucket behind a fault proxy, which is reset before each test. */
export function useFaultyBucket(): () => FaultyBucket {
  let current: FaultyBucket;
  beforeAll(async () => {
    const bucket = await startTestBucket();
    const proxy = await startFaultProxy(bucket.endpoint);
    const retries: string[] = [];
    const newStorage = await loadStorage();
    const storeWith: FaultyBucket['storeWith'] = ({ endpoint = proxy.url, ...changes } = {}) =>
      new BucketStore(
        new GcsBucket({
          bucket: bucket.bucket,
          open: () => newStorage({ apiEndpoint: endpoint }),
          log: silentLog,
          onRetry: (operation, failure) => retries.push(`${operation} ${failure}`),
          silenceMs: 10_000,
          backoffMs: 40,
          maxRequestBytes: megabyte,
          ...changes,
        }),
      );
    const sent: FaultyBucket['sent'] = (match) => proxy.seen.filter((request) => match(request)).length;
    const store = storeWith();
    const isStored: FaultyBucket['isStored'] = async ({ name, bytes }) => {
      const found = await store.stat(name);
      return found !== null && (await bytesOf(store, found)).equals(bytes);
    };
    const uploader = new BucketUploader(store.bucket);
    current = {
      bucket,
      proxy,
      store,
      uploader,
      impatient: storeWith({ silenceMs }),
      retries,
      storeWith,
      isStored,
      sent,
    };
  }, bucketSetUpMs);
  beforeEach(() => {
    current.proxy.heal();
    current.retries.length = 0;
  });
  afterAll(async () => {
    const { store, impatient, proxy, bucket } = current;
    store.close();
    impatient.close();
    await proxy[Symbol.asyncDispose]();
    await bucket[Symbol.asyncDispose]();
  });
  return () => current;
}

/** Returns the logged cause of a failed call. */
export async function causeOf(call: Promise<unknown>): Promise<ObjectError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toMatchObject({ code: 'STORAGE_FAILED' });
  expect(error?.cause).toBeInstanceOf(ObjectError);
  return error?.cause as ObjectError;
}

/**
 * Creates Google's library. Each time that the library is opened, it has the next of these tokens. If a token is a promise, the library
 * waits for it.
 */
export async function withTokens(endpoint: string, ...all: (string | Promise<never>)[]) {
  const newStorage = await loadStorage();
  type Options = NonNullable<Parameters<typeof newStorage>[0]>;
  const left = [...all];
  const open = () => {
    const token = left.shift();
    const authClient = { getRequestHeaders: async () => new Headers({ authorization: `Bearer ${await token}` }) };
    return newStorage({
      apiEndpoint: endpoint,
      useAuthWithCustomEndpoint: true,
      authClient: authClient as unknown as NonNullable<Options['authClient']>,
    });
  };
  return { open, left: () => left.length };
}
