import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../harness/bucket.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { asRefresh, expectedOf } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';
import { storeSuite } from './support/store-suite.ts';

let bucket: TestBucket;
let store: BucketStore;
beforeAll(async () => {
  bucket = await startTestBucket();
  store = await openBucket(
    { bucket: bucket.bucket, endpoint: bucket.endpoint, prefix: 'captures/' },
    { log: silentLog },
  );
}, bucketSetUpMs);
afterAll(async () => {
  store.close();
  await bucket[Symbol.asyncDispose]();
});

storeSuite(() => ({ store, uploader: new BucketUploader(store.bucket) }));

test('an upload that is never accepted has the time after which the lifecycle rule removes it', async () => {
  const file = newFile(10);
  await new BucketUploader(store.bucket).upload(file).stored;
  const found = (await bucket.objects()).find(({ name }) => name === `captures/${file.object}`);
  expect(Date.parse(found?.customTime ?? '')).toBe(file.expiresAt);
});

test('an upload that another process accepts first is accepted, although its object is gone', async () => {
  const file = newFile(100);
  await store.create(file);
  const refresh = asRefresh(newFile(200, { name: file.name }));
  const upload = await new BucketUploader(store.bucket).upload(refresh).stored;
  const [fileRead, otherAccepted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const get: BucketStore['bucket']['get'] = async (name, limits) => {
    if (name !== file.name) await otherAccepted.promise;
    const found = await store.bucket.get(name, limits);
    if (name === file.name) fileRead.resolve();
    return found;
  };
  const slowBucket = new Proxy(store.bucket, {
    get: (bucket, key) => {
      const member: unknown = Reflect.get(bucket, key);
      return key === 'get' ? get : typeof member === 'function' ? (member.bind(bucket) as unknown) : member;
    },
  });
  const accepting = new BucketStore(slowBucket).accept(upload, expectedOf(refresh));
  await fileRead.promise;
  const other = await store.accept(upload, expectedOf(refresh));
  otherAccepted.resolve();
  expect(await accepting).toEqual(other);
});

test('an object contains its account, its expiry, and what browsers and caches may do with it', async () => {
  const file = newFile(10, { expiresAt: Date.now() + 200_000 });
  const persisted = newFile(10, { cacheSeconds: 300 });
  const lasting = newFile(10, { expiresAt: Date.now() + 86_400_000 });
  for (const each of [file, persisted, lasting]) await store.create(each);
  const objects = await bucket.objects();
  const objectOf = ({ name }: { name: string }) => objects.find((object) => object.name === `captures/${name}`);

  const uuid = file.name.slice(0, 36);
  expect(objectOf(file)).toMatchObject({
    contentType: 'image/png',
    contentDisposition: `inline; filename="capture-${uuid}.png"`,
    metadata: { uuid, account: createHash('sha256').update('acme').digest('hex').slice(0, 32) },
  });
  expect(Date.parse(objectOf(file)?.customTime ?? '')).toBe(file.expiresAt);
  // The cache lifetime ends with the file; a file that may be replaced is revalidated earlier.
  expect(objectOf(file)?.cacheControl).toMatch(/^public, max-age=(1[5-9]\d|200)$/);
  expect(objectOf(lasting)?.cacheControl).toMatch(/^public, max-age=(863\d\d|86400)$/);
  expect(objectOf(persisted)?.cacheControl).toBe('public, max-age=300, must-revalidate');
});
