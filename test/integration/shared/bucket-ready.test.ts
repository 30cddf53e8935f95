import { describe, expect, test } from 'vitest';
import { loadStorage } from '@webcapture/shared/files/bounded-storage.ts';
import { BucketError, bucketReady, type BucketUse } from '@webcapture/shared/files/bucket-ready.ts';
import { GcsBucket, type GcsOptions } from '@webcapture/shared/files/gcs-bucket.ts';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { googleError, type SeenRequest } from '../../harness/fault-proxy.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { useFaultyBucket, withTokens } from './support/faulty-bucket.ts';

const on = useFaultyBucket();

const newStorage = await loadStorage();

/** Whether the request is about the file of the check, and not about a missing name. */
const isOfFile = ({ url }: SeenRequest) => url.pathname.includes('/captures%2F');

const storeOn = (endpoint: string, changes: Partial<GcsOptions> = {}) => {
  const open = () => newStorage({ apiEndpoint: endpoint });
  const options = { bucket: on().bucket.bucket, prefix: 'captures/', open, log: silentLog, backoffMs: 20, ...changes };
  return new BucketStore(new GcsBucket(options));
};

async function ready(use: BucketUse, store = storeOn(on().proxy.url)): Promise<BucketStore> {
  const onWait = () => undefined;
  await bucketReady(store, use, { signal: AbortSignal.timeout(20_000), log: silentLog, onWait });
  return store;
}

/** Returns the message for the operator if the bucket is not ready. */
async function complaint(use: BucketUse, store?: BucketStore): Promise<string> {
  const error = await ready(use, store).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BucketError);
  return (error as BucketError).message;
}

const denied = (right: string) =>
  googleError(
    403,
    'forbidden',
    `wc@p.iam.gserviceaccount.com does not have ${right} access to the Google Cloud Storage object. Permission '${right}' denied on resource (or it may not exist).`,
  );

const requests = {
  create: ({ method }: SeenRequest) => method === 'POST',
  get: ({ method, url }: SeenRequest) => method === 'GET' && url.pathname.includes('/o/'),
  delete: ({ method }: SeenRequest) => method === 'DELETE',
};

test('a bucket that grants all rights is ready, and no object is left in it', async () => {
  await ready('all');
  await ready('create');
  expect(await on().bucket.objects()).toEqual([]);
});

describe('the error message says', () => {
  test.each(['create', 'get', 'delete'] as const)(
    'that the right storage.objects.%s is missing, and which role grants it',
    async (need) => {
      on().proxy.always(requests[need], denied(`storage.objects.${need}`));
      const message = await complaint('all');
      expect(message).toContain(`the right storage.objects.${need} on the bucket ${on().bucket.bucket} is missing`);
      expect(message).toContain('roles/storage.objectUser');
      expect(message).toContain('does not have');
    },
  );

  test.each([
    ['renderer', 'create'],
    ['front', 'all'],
  ] as const)('that the bucket does not exist (%s)', async (_, use) => {
    on().proxy.always(() => true, googleError(404, 'notFound', 'The specified bucket does not exist.'));
    expect(await complaint(use)).toContain(
      `there is no bucket ${on().bucket.bucket}: create it, or correct WEBCAPTURE_GCS_BUCKET`,
    );
  });

  test('that the bucket does not exist, according to a real server', async () => {
    expect(await complaint('all', storeOn(on().bucket.endpoint, { bucket: 'another' }))).toContain(
      'there is no bucket another',
    );
  });

  test('that the credentials have expired', async () => {
    on().proxy.always(() => true, googleError(401, 'authError', 'Invalid Credentials'));
    expect(await complaint('all')).toMatch(/refuses the credentials, which have expired .* Invalid Credentials/);
  });

  test('that there are no credentials', async () => {
    const missing = Promise.reject(new Error('Could not load the default credentials.'));
    missing.catch(() => undefined);
    const message = await complaint('all', storeOn(on().proxy.url, await withTokens(on().proxy.url, missing)));
    expect(message).toMatch(/no credentials for the bucket .* GOOGLE_APPLICATION_CREDENTIALS.* Could not load/);
  });
});

const grants = (...rights: string[]) =>
  on().proxy.always(({ url }) => url.pathname.endsWith('/testPermissions'), {
    kind: 'answer',
    status: 200,
    body: JSON.stringify({ kind: 'storage#testIamPermissionsResponse', permissions: rights }),
  });

describe('a service without the right to list', () => {
  /** Refuses requests for the probe file after its removal. */
  const isOfRemoved = (request: SeenRequest) => requests.get(request) && on().sent(requests.delete) > 0;

  test('is ready if the bucket confirms its other rights', async () => {
    on().proxy.always(isOfRemoved, denied('storage.objects.get'));
    grants('storage.objects.get', 'storage.objects.delete');
    await ready('all');
  });

  test('gets an error that asks for it if its other rights are conditional', async () => {
    on().proxy.always(isOfRemoved, denied('storage.objects.get'));
    grants();
    const message = await complaint('all');
    expect(message).toContain('the right storage.objects.list on the bucket');
    expect(message).toContain('storage.objects.delete, storage.objects.list (docs/storage.md)');
  });
});

test('a 403 that is not about a right is reported with its own reason', async () => {
  on().proxy.always(() => true, googleError(403, 'accountDisabled', 'The billing account is disabled'));
  const message = await complaint('all');
  expect(message).not.toContain('the right');
  expect(message).toContain('accountDisabled');
});

test('a check that fails halfway leaves no object in the bucket', async () => {
  const before = await on().bucket.objects();
  on().proxy.always((request) => isOfFile(request) && request.method === 'GET', denied('storage.objects.get'));
  expect(await complaint('all')).toContain('the right storage.objects.get');
  expect(await on().bucket.objects()).toEqual(before);
});

describe('an unavailable bucket is waited for', () => {
  test('while it answers 503', async () => {
    const waits: string[] = [];
    const isTold = () => waits.some((what) => what.includes('Backend Error'));
    on().proxy.always(() => !isTold(), googleError(503, 'backendError', 'Backend Error'));
    const onWait = (what: string) => void waits.push(what);
    const signal = AbortSignal.timeout(40_000);
    await bucketReady(storeOn(on().proxy.url), 'all', { signal, log: silentLog, onWait, tryMs: 1000 });
    expect(isTold()).toBe(true);
    for (const what of waits) expect(what).toContain(`waiting for the bucket ${on().bucket.bucket}: `);
  });

  test.each([
    ['to find its file', (request: SeenRequest) => requests.get(request) && isOfFile(request)],
    ['to remove it', requests.delete],
  ])('while it takes too long %s', { tags: 'long' }, async (_, hangs) => {
    const waits: { readonly what: string; readonly afterMs: number }[] = [];
    on().proxy.always((request) => waits.length === 0 && hangs(request), { kind: 'hang' });
    const start = performance.now();
    const onWait = (what: string) => void waits.push({ what, afterMs: performance.now() - start });
    const signal = AbortSignal.timeout(50_000);
    await bucketReady(storeOn(on().proxy.url), 'all', { signal, log: silentLog, onWait, tryMs: 1000 });
    // The attempt ends before the connection times out. A slow machine may need several attempts.
    expect(waits[0]?.afterMs).toBeLessThan(8000);
  });

  test('until the process is stopped in the middle of a request', async () => {
    const stop = new AbortController();
    on().proxy.always(requests.create, { kind: 'hang' });
    const waiting = bucketReady(storeOn(on().proxy.url), 'all', {
      signal: stop.signal,
      log: silentLog,
      onWait: () => undefined,
    });
    const stopped = waiting.catch((error: unknown) => error);
    await until('the call to be under way', () => on().proxy.seen.some(requests.create));
    stop.abort(new Error('the process is stopping'));
    const start = performance.now();
    expect(await stopped).toMatchObject({ message: expect.stringContaining('is stopping') });
    // An attempt that is not aborted ends after 5 s.
    expect(performance.now() - start).toBeLessThan(4500);
  });

  test('until the process is stopped between two attempts', async () => {
    const stop = new AbortController();
    const onWait = () => stop.abort(new Error('the process is stopping'));
    const away = storeOn('http://127.0.0.1:9');
    await expect(bucketReady(away, 'all', { signal: stop.signal, log: silentLog, onWait, tryMs: 300 })).rejects.toThrow(
      'is stopping',
    );
  });
});
