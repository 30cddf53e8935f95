import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { ListedFile } from '@webcapture/shared/files/file-store.ts';
import { storeHtml } from '@webcapture/shared/files/stored-html.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { replaceFile } from '../../harness/place-file.ts';
import { newFile } from '../../harness/records.ts';

let nats: TestNats;
let store: EmbeddedStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const create = (name: string, size = 10) =>
  store.create({
    object: name,
    region: 'us-east',
    account: 'acme',
    bytes: randomBytes(size),
    contentType: 'image/png',
    expiresAt: Date.now() + 3_600_000,
    width: 1,
    height: 1,
  });

async function listAll(limit: number): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  for (let after: string | null = null; ;) {
    // A new store for each page, as in another process.
    const page = await new EmbeddedStore(nats.session).list(after, limit);
    expect(page.files.length).toBeLessThanOrEqual(limit);
    files.push(...page.files);
    if (page.next === null) return files;
    after = page.next;
  }
}

test('files are listed page by page, a listing continues where another ended, and contains only files', async () => {
  expect(await store.list(null, 10)).toEqual({ files: [], next: null });
  const names = Array.from({ length: 7 }, () => newFileName(randomUUIDv7(), 'png'));
  const stored = [];
  // Some files have more than one part.
  for (const [index, name] of names.entries()) stored.push(await create(name, index * 150_000 + 1));
  await storeHtml(nats.session, { region: 'us-east', name: randomUUIDv7() }, '<p>no file</p>', Date.now() + 60_000);
  const expected = stored.map(({ name, size, storedAt, expiresAt }) => ({ name, size, storedAt, expiresAt }));
  expect(await listAll(3)).toEqual(expected);
  expect(await listAll(7)).toEqual(expected);

  const [first = '', second = ''] = names;
  const replaced = await store.stat(first);
  if (replaced === null) throw new Error('no file');
  await replaceFile({ store, uploader: new EmbeddedUploader(nats.session) }, newFile(50, { name: first }));
  await store.remove(second);
  const rest = await listAll(4);
  expect(rest.map(({ name }) => name).toSorted()).toEqual(names.filter((name) => name !== second).toSorted());
  expect(rest.find(({ name }) => name === first)?.size).toBe(50);
});
