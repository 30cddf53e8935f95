import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
import type { ByteRange, StoredFile } from '@webcapture/shared/storage/file-store.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
let store: EmbeddedStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const newFile = (bytes: Buffer, seconds = 3600) => ({
  name: newFileName(randomUUIDv7(), 'png'),
  bytes,
  contentType: 'image/png' as const,
  expiresAt: Date.now() + seconds * 1000,
  width: 3,
  height: 4,
});

async function bytesOf(file: StoredFile, range?: ByteRange): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(file, range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function messagesOf(name: string): Promise<number> {
  const info = await nats.session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.>' });
  const token = name.replaceAll('.', '_');
  return Object.keys(info.state.subjects ?? {}).filter((subject) => subject.includes(token)).length;
}

const part = 256 * 1024;

test.each([1, part - 1, part, part + 1, 3 * part, 20 * part + 7])('gives back a file of %i bytes', async (size) => {
  const file = newFile(randomBytes(size));
  const stored = await store.create(file);
  expect(stored).toMatchObject({ size, contentType: 'image/png', width: 3, height: 4 });
  const found = await store.stat(file.name);
  expect(found).toEqual(stored);
  expect((await bytesOf(stored)).equals(file.bytes)).toBe(true);
});

test.each([
  [0, 0],
  [10, 20],
  [part - 1, part],
  [part, 2 * part - 1],
  [5, 3 * part + 1],
])('reads bytes %i to %i', async (start, end) => {
  const file = newFile(randomBytes(4 * part));
  const stored = await store.create(file);
  expect((await bytesOf(stored, { start, end })).equals(file.bytes.subarray(start, end + 1))).toBe(true);
});

test('the first file of a name stands, and the second leaves nothing behind', async () => {
  const first = newFile(randomBytes(2 * part));
  const stored = await store.create(first);
  const again = await store.create({ ...first, bytes: randomBytes(3 * part) });
  expect(again).toEqual(stored);
  expect((await bytesOf(again)).equals(first.bytes)).toBe(true);
  expect(await messagesOf(first.name)).toBe(3);
});

test('equal bytes have equal tags, others have others', async () => {
  const bytes = randomBytes(100);
  const [a, b, c] = await Promise.all(
    [newFile(bytes), newFile(bytes), newFile(randomBytes(100))].map((file) => store.create(file)),
  );
  expect(a?.etag).toBe(b?.etag);
  expect(a?.etag).not.toBe(c?.etag);
});

test('a removed file is gone, parts and all', async () => {
  const file = newFile(randomBytes(2 * part));
  await store.create(file);
  await store.remove(file.name);
  expect(await store.stat(file.name)).toBeNull();
  expect(await messagesOf(file.name)).toBe(0);
  await store.remove(file.name);
});

test('a file goes by itself when its time is over', async () => {
  const file = newFile(randomBytes(10), 1);
  await store.create(file);
  await vi.waitFor(async () => expect(await store.stat(file.name)).toBeNull(), { timeout: 5000 });
});

test('there is no file of a name that nobody stored', async () => {
  expect(await store.stat(newFileName(randomUUIDv7(), 'webp'))).toBeNull();
});
