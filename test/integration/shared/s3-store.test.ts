// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadS3, S3Bucket } from '@webcapture/shared/files/s3-bucket.ts';
import type { BucketClientOptions } from '@webcapture/shared/files/bucket-client.ts';
import { BucketError, bucketReady } from '@webcapture/shared/files/bucket-ready.ts';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { startFaultProxy, type Fault, type FaultProxy, type SeenRequest } from '../../harness/fault-proxy.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { replaceFile } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { s3SetUpMs, startTestS3, type TestS3 } from '../../harness/s3-bucket.ts';
import { bytesOf, pair } from './support/stored-files.ts';
import { causeOf } from './support/faulty-bucket.ts';
import { storeSuite } from './support/store-suite.ts';

const s3 = await loadS3();
let server: TestS3;
let proxy: FaultProxy;
let store: BucketStore;
const retries: string[] = [];
beforeAll(async () => {
  server = await startTestS3();
  proxy = await startFaultProxy(server.endpoint);
  store = storeOn(server.endpoint);
}, s3SetUpMs);
afterAll(async () => {
  store.bucket.close();
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

function storeOn(endpoint: string, { bucket = server.bucket, secret = '', ...changes }: Changes = {}) {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: known } = server.credentials;
  const credentials = { accessKeyId, secretAccessKey: secret || known };
  const config = { endpoint, region: server.region, forcePathStyle: true, credentials };
  const onRetry: BucketClientOptions['onRetry'] = (operation, failure) => void retries.push(`${operation} ${failure}`);
  const options = { bucket, prefix: 'captures/', log: silentLog, onRetry, backoffMs: 20, ...changes };
  return new BucketStore(new S3Bucket({ ...options, s3, config }));
}

type Changes = Partial<BucketClientOptions> & { readonly secret?: string };

storeSuite(() => ({ store, uploader: new BucketUploader(store.bucket) }));

test('an object has the metadata of its file, and a tag for the lifecycle rule that removes leftovers', async () => {
  const file = newFile(10, { expiresAt: Date.now() + 5 * 86_400_000 });
  await new BucketUploader(store.bucket).upload(file).stored;
  const object = { Bucket: server.bucket, Key: `captures/${file.object}` };
  expect(await server.client.headObject(object)).toMatchObject({
    ContentType: 'image/png',
    ContentDisposition: `inline; filename="capture-${file.name.slice(0, 36)}.png"`,
    CacheControl: expect.stringMatching(/^public, max-age=4319\d\d|432000$/),
    Metadata: { 'expires-at': String(file.expiresAt) },
  });
  const { TagSet } = await server.client.getObjectTagging(object);
  expect(TagSet).toEqual([{ Key: 'expires-within-days', Value: '8' }]);
});

test('a signed link opens only its file, with its type', async () => {
  const file = newFile(1000);
  const stored = await store.create(file);
  const link = await store.signedUrl(stored, { expiresAt: Date.now() + 60_000 });
  const answer = await fetch(link);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(Buffer.from(await answer.arrayBuffer()).equals(file.bytes)).toBe(true);
  expect((await fetch(link.replace(file.name, newFile(1).name))).status).toBe(403);
});

describe('behind a proxy with faults', () => {
  const uploads = ({ method }: SeenRequest) => method === 'PUT';
  const downloads = ({ method }: SeenRequest) => method === 'GET';
  const busy: Fault = {
    kind: 'answer',
    status: 503,
    headers: { 'content-type': 'application/xml' },
    body: '<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>',
  };

  test.each([
    ['503', busy, 'create status'],
    ['reset in its middle', { kind: 'reset', afterBytes: 100_000 }, 'create connection'],
    ['silence', { kind: 'hang' }, 'create connection'],
    ['damage on the way', { kind: 'damage' }, 'create status'],
  ] as const)('an upload after %s is retried, and the file is stored once', async (_, fault, retry) => {
    retries.length = 0;
    const own = storeOn(proxy.url, fault.kind === 'hang' ? { silenceMs: 500 } : {});
    const file = newFile(300_000);
    proxy.next(uploads, fault);
    const stored = await own.create(file);
    expect((await bytesOf(store, stored)).equals(file.bytes)).toBe(true);
    expect(retries).toContain(retry);
  });

  test('a read that is cut continues where it stopped', async () => {
    const file = newFile(600_000);
    const stored = await store.create(file);
    proxy.next(downloads, { kind: 'cut', afterBytes: 123_456 });
    expect((await bytesOf(storeOn(proxy.url), stored)).equals(file.bytes)).toBe(true);
  });

  test('a read of a file that is replaced meanwhile never mixes two files', async () => {
    const { old, stored, next } = await pair(store, 600_000);
    const replaced = Promise.withResolvers<undefined>();
    proxy.next(downloads, { kind: 'cut', afterBytes: 100_000, when: replaced.promise });
    const reading = storeOn(proxy.url).read(stored)[Symbol.asyncIterator]();
    const chunks = [(await reading.next()).value as Uint8Array];
    await replaceFile({ store, uploader: new BucketUploader(store.bucket) }, next);
    replaced.resolve(undefined);
    const rest = async () => {
      for (let step = await reading.next(); step.done !== true; step = await reading.next()) chunks.push(step.value);
    };
    await expect(rest()).rejects.toMatchObject({ name: 'FileReplacedError' });
    const read = Buffer.concat(chunks);
    expect(read.equals(old.bytes.subarray(0, read.length))).toBe(true);
  });

  test('a bucket that stays unavailable fails the call at the deadline, with the cause', async () => {
    proxy.always(uploads, busy);
    const cause = await causeOf(storeOn(proxy.url).create(newFile(100, { deadline: Date.now() + 1500 })));
    proxy.heal();
    expect(cause.message).toContain('Reduce your request rate');
  });
});

describe('the check of a service', () => {
  const ready = (own: BucketStore, use: 'create' | 'all') =>
    bucketReady(own, use, { signal: AbortSignal.timeout(20_000), log: silentLog, onWait: () => undefined });

  test.each(['create', 'all'] as const)('passes with all rights, and leaves no object (%s)', async (use) => {
    const count = async () => (await server.client.listObjectsV2({ Bucket: server.bucket })).KeyCount;
    const before = await count();
    await ready(store, use);
    expect(await count()).toBe(before);
  });

  test('names a missing bucket', async () => {
    const error = await ready(storeOn(server.endpoint, { bucket: 'another' }), 'all').catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(BucketError);
    expect((error as Error).message).toContain(
      'there is no bucket another: create it, or correct WEBCAPTURE_S3_BUCKET',
    );
  });

  test('names the refusal of wrong credentials', async () => {
    const own = storeOn(server.endpoint, { secret: 'wrong' });
    await expect(ready(own, 'all')).rejects.toThrow(/SignatureDoesNotMatch/);
  });
});
