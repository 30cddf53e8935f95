import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BucketStore } from '@webcapture/shared/files/bucket-store.ts';
import { BucketUploader } from '@webcapture/shared/files/bucket-uploader.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../harness/bucket.ts';
import { silentLog } from '../../harness/nats-session.ts';
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
