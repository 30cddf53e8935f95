import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedStore } from '@webcapture/shared/files/embedded-store.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import { EmbeddedUploader } from '@webcapture/shared/files/embedded-uploader.ts';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import { fileBody } from '../../../services/front/api/send-file.ts';
import { fake } from '../../harness/fake.ts';
import { replaceFile, type Storing } from '../../harness/place-file.ts';
import { newFile, pngLike } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let store: EmbeddedStore;
const bytes = randomBytes(1_000_000);
const uuid = randomUUIDv7();
let file: StoredFile;

const fileOf = (bytes: Buffer, seconds: number, id = randomUUIDv7()) =>
  newFile(0, { bytes, name: newFileName(id, 'png'), expiresAt: Date.now() + seconds * 1000 });
const storing = (): Storing => ({ store, uploader: new EmbeddedUploader(front.nats.session) });
const put = (...args: Parameters<typeof fileOf>) => store.create(fileOf(...args));

beforeAll(async () => {
  front = await startTestFront();
  store = new EmbeddedStore(front.nats.session);
  file = await put(bytes, 3600, uuid);
});
afterAll(() => front[Symbol.asyncDispose]());

const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
  front.call(`/files/${name}`, { key: null, headers, method });
const bodyOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

test('a file is public, and has the headers that browsers and caches need', async () => {
  const response = await get(file.name);
  expect(response.status).toBe(200);
  expect((await bodyOf(response)).equals(bytes)).toBe(true);
  const headers = Object.fromEntries(response.headers);
  expect(headers).toMatchObject({
    'content-type': 'image/png',
    'content-length': '1000000',
    'accept-ranges': 'bytes',
    etag: `"${file.etag}"`,
    'last-modified': new Date(file.storedAt).toUTCString(),
    'content-disposition': `inline; filename="capture-${uuid}.png"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
  });
  const [, seconds] = /^public, max-age=(\d+)$/.exec(headers['cache-control'] ?? '') ?? [];
  expect(Number(seconds)).toBeGreaterThan(3500);
  expect(Number(seconds)).toBeLessThanOrEqual(3600);
});

test('HEAD has the same headers and no body', async () => {
  const response = await get(file.name, { range: 'bytes=0-1' }, 'HEAD');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-length')).toBe('1000000');
  expect((await bodyOf(response)).length).toBe(0);
});

test.each([
  ['bytes=0-0', 0, 0],
  ['bytes=262140-262150', 262_140, 262_150],
  ['bytes=999990-', 999_990, 999_999],
  ['bytes=-5', 999_995, 999_999],
  ['bytes=1000-5000000', 1000, 999_999],
])('the range %s is a 206', async (range, start, end) => {
  const response = await get(file.name, { range });
  expect(response.status).toBe(206);
  expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end}/1000000`);
  expect(response.headers.get('content-length')).toBe(String(end - start + 1));
  expect((await bodyOf(response)).equals(bytes.subarray(start, end + 1))).toBe(true);
});

test('a range outside the file is a 416', async () => {
  const response = await get(file.name, { range: 'bytes=1000000-' });
  expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */1000000']);
});

test.each([
  ['several ranges', { range: 'bytes=0-1,3-4' }],
  ['nonsense', { range: 'bytes=x' }],
  ['a range that was meant for another file', { range: 'bytes=0-1', 'if-range': '"other"' }],
])('for %s the whole file is sent', async (_name, headers) => {
  const response = await get(file.name, headers);
  expect([response.status, (await bodyOf(response)).length]).toEqual([200, bytes.length]);
});

test('a matching If-None-Match is a 304 without a body', async () => {
  const known = { 'if-none-match': `"${file.etag}"` };
  for (const method of ['GET', 'HEAD']) {
    const response = await get(file.name, known, method);
    expect([response.status, response.headers.get('etag')]).toEqual([304, `"${file.etag}"`]);
    expect(response.headers.get('cache-control')).toContain('max-age');
    expect((await bodyOf(response)).length).toBe(0);
  }
});

describe('a file that may be replaced', () => {
  test.each([
    [3600, 300],
    [200, 200],
  ])('with %i seconds left is cached for %i, then revalidated', async (seconds, maxAge) => {
    const replaceable = await store.create({ ...fileOf(randomBytes(10), seconds), cacheSeconds: 300 });
    for (const method of ['GET', 'HEAD']) {
      const header = (await get(replaceable.name, {}, method)).headers.get('cache-control') ?? '';
      const [, told] = /^public, max-age=(\d+), must-revalidate$/.exec(header) ?? [];
      expect(Number(told)).toBeGreaterThan(maxAge - 20);
      expect(Number(told)).toBeLessThanOrEqual(maxAge);
    }
  });

  test('is a 304 for its ETag until it is replaced, and then sent whole', async () => {
    const old = { ...fileOf(pngLike(100, { width: 3, height: 4 }), 3600), cacheSeconds: 300 };
    const stored = await store.create(old);
    const known = { 'if-none-match': `"${stored.etag}"` };
    expect((await get(old.name, known)).status).toBe(304);

    await replaceFile(storing(), { ...old, expiresAt: old.expiresAt + 1000 });
    expect((await get(old.name, known)).status).toBe(304);

    const bytesNow = pngLike(600_000, old);
    await replaceFile(storing(), { ...old, bytes: bytesNow });
    const response = await get(old.name, known);
    expect(response.status).toBe(200);
    expect(response.headers.get('etag')).not.toBe(`"${stored.etag}"`);
    expect((await bodyOf(response)).equals(bytesNow)).toBe(true);
    // A range of the old file must not be served from the new one.
    const ranged = await get(old.name, { range: 'bytes=0-4', 'if-range': `"${stored.etag}"` });
    expect([ranged.status, (await bodyOf(ranged)).length]).toEqual([200, bytesNow.length]);
  });
});

describe('not found', () => {
  test.each([
    ['a name that is none of ours', 'picture.png'],
    ['a path', '..%2f..%2fetc%2fpasswd'],
    ['an unknown name', newFileName(randomUUIDv7(), 'png')],
    ['another random part', `${uuid}-${'0'.repeat(32)}.png`],
  ])('%s', async (_name, name) => {
    const response = await get(name);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ success: false, error: { code: 'NOT_FOUND' }, data: null });
  });

  test('a file that has expired', async () => {
    const brief = await put(Buffer.from('x'), 3);
    const [, seconds] = /max-age=(\d+)/.exec((await get(brief.name)).headers.get('cache-control') ?? '') ?? [];
    expect(Number(seconds)).toBeLessThanOrEqual(3);
    await new Promise((resolve) => setTimeout(resolve, brief.expiresAt - Date.now() + 100));
    expect((await get(brief.name)).status).toBe(404);
  });
});

test('a read ends with its client, even if the client has left before it begins', async () => {
  let open = 0;
  async function* read() {
    open += 1;
    try {
      for (;;) yield await Promise.resolve(Buffer.alloc(10));
    } finally {
      open -= 1;
    }
  }
  const gone = await fileBody(fake({ read }), file);
  gone.destroy();
  await once(gone, 'close');
  const reading = await fileBody(fake({ read }), file);
  await once(reading, 'readable');
  expect(open).toBe(1);
  reading.destroy();
  await until('the reading to end', () => Promise.resolve(open === 0));
});

test('if a client stops reading, the front does not buffer the file, and recovers when the client leaves', async () => {
  const large = await put(randomBytes(40_000_000), 60);
  const before = process.memoryUsage().arrayBuffers;
  const { port } = new URL(front.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET /files/${large.name} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(25_000_000);
  socket.destroy();
  // The server still serves the next request.
  expect((await get(file.name)).status).toBe(200);
});
