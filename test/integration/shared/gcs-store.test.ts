import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GcsStore } from '@webcapture/shared/files/gcs-store.ts';
import { GcsUploader } from '@webcapture/shared/files/gcs-uploader.ts';
import { openBucket } from '@webcapture/shared/files/open-store.ts';
import { bucketSetUpMs, startTestBucket, type TestBucket } from '../../harness/bucket.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { newFile } from '../../harness/records.ts';
import { storeSuite } from './support/store-suite.ts';

let bucket: TestBucket;
let store: GcsStore;
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

storeSuite(() => ({ store, uploader: new GcsUploader(store.client) }));

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

test('a listing that began in the embedded store starts again; foreign objects do not stop it', async () => {
  const headers = { 'content-type': 'application/octet-stream' };
  const path = `${bucket.endpoint}/upload/storage/v1/b/${bucket.bucket}/o?uploadType=media&name=`;
  for (const name of ['0', '1', 'notes'])
    await fetch(`${path}captures/${name}`, { method: 'POST', headers, body: 'x' });
  const file = newFile(10);
  await store.create(file);
  expect((await store.list('999999', 10_000)).files.map(({ name }) => name)).toContain(file.name);
  const listed: string[] = [];
  let pages = 0;
  for (let after: string | null = null; pages === 0 || (after !== null && pages < 1000); pages++) {
    const page = await store.list(after, 10);
    listed.push(...page.files.map(({ name }) => name));
    after = page.next;
  }
  expect(pages).toBeLessThan(1000);
  expect(listed.filter((name) => name === file.name)).toHaveLength(1);
});
