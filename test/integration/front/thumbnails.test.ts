import { randomUUIDv7 } from 'node:crypto';
import { Registry } from 'prom-client';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Format } from '@webcapture/shared/api/formats.ts';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import { untilAborted } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { RetryLaterError } from '../../../services/front/admission.ts';
import { TokenBuckets } from '../../../services/front/http/token-buckets.ts';
import {
  createScaledPictureMetrics,
  ScaledPictures,
} from '../../../services/front/plugins/thumbnails/scaled-pictures.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { pngLike } from '../../harness/records.ts';
import { bytesOf, read, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let lines: string[] = [];
let skewMs = 0;
beforeAll(async () => {
  const warn = ({ err }: { err: Error }) => void lines.push(err.message);
  const log = Object.create(silentLog, { warn: { value: warn } }) as Logger;
  front = await startTestFront({}, { log, now: () => Date.now() + skewMs });
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => {
  lines = [];
  skewMs = 0;
});

/** Captures a page with the given file and reported size; returns the uuid. */
async function captured(
  bytes: Buffer,
  size: { width: number; height: number },
  format: Format = 'png',
): Promise<string> {
  front.renderer.fileOf = () => bytes;
  front.renderer.changeUpload = (upload) => ({ ...upload, ...size });
  const { status, body } = await read(await front.capture({ url: 'https://example.com/', format, cdnTtl: 600 }));
  expect(status).toBe(200);
  return String(body.data?.['uuid']);
}

const get = (uuid: string, query = '', headers: Record<string, string> = {}) =>
  front.call(`/captures/${uuid}/thumbnail${query}`, { headers });
const refusal = async (uuid: string, query = '') => {
  const { status, body } = await read(await get(uuid, query));
  return { status, ...body.error };
};
const results = async () => {
  const { values = [] } = (await front.metrics.getSingleMetric('webcapture_front_pictures_total')?.get()) ?? {};
  const count = (result: string) => values.find(({ labels }) => labels['result'] === result)?.value ?? 0;
  return { scaled: count('scaled'), cached: count('cached') };
};

/** Returns a picture that is red on top and blue below. */
const page = (width: number, height: number, redHeight: number) =>
  sharp({ create: { width, height, channels: 3, background: 'blue' } }).composite([
    { input: { create: { width, height: redHeight, channels: 3, background: 'red' } }, left: 0, top: 0 },
  ]);

test('a thumbnail is a WebP of at most the given width, which clients may cache', async () => {
  const uuid = await captured(await page(1280, 720, 360).png().toBuffer(), { width: 1280, height: 720 });
  const response = await get(uuid);
  expect(response.status).toBe(200);
  const headers = Object.fromEntries(response.headers);
  expect(headers).toMatchObject({
    'content-type': 'image/webp',
    vary: 'Authorization',
    'x-content-type-options': 'nosniff',
  });
  expect(headers['cache-control']).toMatch(/^private, max-age=(?:[1-5]\d\d|600)$/);
  expect(await sharp(await bytesOf(response)).metadata()).toMatchObject({ format: 'webp', width: 320, height: 180 });

  const again = await get(uuid, '', { 'if-none-match': headers['etag'] ?? '' });
  expect([again.status, again.headers.get('etag'), (await bytesOf(again)).length]).toEqual([304, headers['etag'], 0]);
  expect((await get(uuid, '?width=64', { 'if-none-match': headers['etag'] ?? '' })).status).toBe(200);
  // A thumbnail is never larger than the file.
  expect(await sharp(await bytesOf(await get(uuid, '?width=1568'))).metadata()).toMatchObject({
    width: 1280,
    height: 720,
  });
});

test.each(['png', 'jpeg', 'webp'] as const)(
  'the thumbnail of a very tall %s shows its top',
  { tags: 'long' },
  async (format) => {
    const [width, height] = [200, { png: 100_000, jpeg: 60_000, webp: 16_000 }[format]];
    const file = await page(width, height, 200).toFormat(format).toBuffer();
    const picture = sharp(await bytesOf(await get(await captured(file, { width, height }, format), '?width=32')));
    expect(await picture.metadata()).toMatchObject({ width: 160, height: 240 });
    const { data } = await picture.raw().toBuffer({ resolveWithObject: true });
    const pixel = (row: number) => [...data.subarray((row * 160 + 80) * 3, (row * 160 + 80) * 3 + 3)];
    expect(pixel(20)[0]).toBeGreaterThan(200);
    expect(pixel(220)[2]).toBeGreaterThan(200);
  },
);

test('concurrent requests share one thumbnail, and later ones get it from memory', async () => {
  const uuid = await captured(await page(800, 600, 300).png().toBuffer(), { width: 800, height: 600 });
  const before = await results();
  const pictures = await Promise.all([1, 2, 3].map(async () => bytesOf(await get(uuid))));
  expect(pictures[1]?.equals(pictures[0] as Buffer)).toBe(true);
  await get(uuid);
  const after = await results();
  expect(after).toEqual({ scaled: before.scaled + 1, cached: before.cached + 1 });
});

test('widths are rounded up to a few steps, which limits the thumbnails of a capture', async () => {
  const uuid = await captured(await page(800, 600, 300).png().toBuffer(), { width: 800, height: 600 });
  const before = await results();
  const widthOf = async (width: number) =>
    (await sharp(await bytesOf(await get(uuid, `?width=${width}`))).metadata()).width;
  for (const [asked, made] of [
    [161, 320],
    [320, 320],
    [200, 320],
    [32, 160],
    [1000, 800],
  ] as const) {
    expect(await widthOf(asked)).toBe(made);
  }
  const after = await results();
  expect(after).toEqual({ scaled: before.scaled + 3, cached: before.cached + 2 });
});

test.each([
  ['31', 'width'],
  ['1569', 'width'],
  ['a', 'width'],
])('a width of %s is refused', async (width, word) => {
  expect(await refusal(randomUUIDv7(), `?width=${width}`)).toMatchObject({
    status: 400,
    code: 'VALIDATION_ERROR',
    message: expect.stringContaining(word) as unknown,
  });
});

test('a missing thumbnail is a 404 with the reason', async () => {
  expect(await refusal(randomUUIDv7())).toMatchObject({ status: 404, code: 'CAPTURE_NOT_FOUND' });
  const pdf = await captured(Buffer.from('%PDF-1.7\nmore'), { width: 100, height: 100 }, 'pdf');
  expect(await refusal(pdf)).toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
    message: expect.stringContaining('PDF') as unknown,
  });

  const uuid = await captured(await page(64, 64, 32).png().toBuffer(), { width: 64, height: 64 });
  const foreign = await front.call(`/captures/${uuid}/thumbnail`, { key: await front.makeKey() });
  expect([foreign.status, (await read(foreign)).body.error?.code]).toEqual([404, 'CAPTURE_NOT_FOUND']);
  skewMs = 700_000;
  expect(await refusal(uuid)).toMatchObject({
    status: 404,
    message: expect.stringContaining('no longer exists') as unknown,
  });
  skewMs = 0;
  await front.call(`/captures/${uuid}`, { method: 'DELETE' });
  expect(await refusal(uuid)).toMatchObject({ status: 404, message: expect.stringContaining('deleted') as unknown });
});

/** Returns a tiny progressive JPEG whose header makes a decoder allocate a gigabyte of coefficients. */
async function jpegBomb(width: number, height: number): Promise<Buffer> {
  const small = await page(64, 64, 32).jpeg({ progressive: true }).toBuffer();
  const at = small.indexOf(Buffer.from([0xff, 0xc2]));
  small.writeUInt16BE(height, at + 5);
  small.writeUInt16BE(width, at + 7);
  return small;
}

test('the front survives files that break decoders, and logs the reason once', async () => {
  const tall = { width: 64, height: 100_000 };
  const files: [reason: RegExp, bytes: Buffer, size: typeof tall, format: Format][] = [
    [/corrupt header/, pngLike(50_000, tall), tall, 'png'],
    [/pixel limit/, await pngOf(60_000, 60_000), { width: 60_000, height: 60_000 }, 'png'],
    [/[Mm]emory/, await jpegBomb(20_000, 19_000), { width: 20_000, height: 19_000 }, 'jpeg'],
    // If the file were read as an SVG, it would be a picture.
    [/corrupt header/, svg, { width: 64, height: 64 }, 'jpeg'],
  ];
  for (const [reason, bytes, size, format] of files) {
    const uuid = await captured(bytes, size, format);
    expect(await refusal(uuid)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect(lines).toEqual([expect.stringMatching(reason)]);
    // The failure is served from memory.
    expect(await refusal(uuid)).toMatchObject({ status: 404 });
    expect(lines.length).toBe(1);
    lines = [];
  }
  const uuid = await captured(await page(64, 64, 32).png().toBuffer(), { width: 64, height: 64 });
  expect((await get(uuid)).status).toBe(200);
});

/** Returns a complete PNG whose header states the given size. */
async function pngOf(width: number, height: number): Promise<Buffer> {
  const small = await page(64, 64, 32).png().toBuffer();
  return Buffer.concat([pngLike(33, { width, height }), small.subarray(33)]);
}

const svg = Buffer.concat([
  Buffer.from([0xff, 0xd8, 0xff]),
  Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="9" height="9"/></svg>'),
]);

describe('the thumbnails of many accounts', () => {
  const never = new Promise<never>(() => undefined);
  let png: Buffer;
  beforeAll(async () => (png = await page(64, 64, 32).png().toBuffer()));

  /** Starts to scale pictures whose `stuck` files never arrive. `reads` contains the files that are being read and their abort signals. */
  function startPictures(stuck: (name: string) => boolean, seconds?: TokenBuckets) {
    const reads = new Map<string, AbortSignal | undefined>();
    const pictures = new ScaledPictures({
      store: fake({
        stat: () => never,
        read: async function* ({ name }, _range, { signal } = {}) {
          reads.set(name, signal);
          yield await (stuck(name) ? untilAborted(never, signal ?? new AbortController().signal) : png);
        },
      }),
      now: Date.now,
      metrics: createScaledPictureMetrics(new Registry()),
      log: silentLog,
      ...(seconds === undefined ? {} : { seconds }),
    });
    const scale = async (account: string, index: number, clientGone = new AbortController().signal) => {
      const file = { ...storedFile, name: `${account}-${index}`, size: png.length };
      return pictures.scale(file, { maxWidth: 32, maxAspect: 1, type: 'webp' }, { account, clientGone });
    };
    return { reads, scale, [Symbol.dispose]: () => pictures.close() };
  }

  test('are made round-robin: an account with many slow ones does not delay others', async () => {
    using pictures = startPictures((name) => name.startsWith('first'));
    const slow = Array.from({ length: 17 }, (_, index) => pictures.scale('first', index));
    void Promise.allSettled(slow);
    await pictures.scale('second', 0);
    await Promise.all([pictures.scale('second', 1), pictures.scale('third', 0)]);
    expect([...pictures.reads.keys()].filter((name) => name.startsWith('first'))).toEqual(['first-0']);
  });

  test('are refused with Retry-After if one account, or all accounts together, have too many waiting', async () => {
    using pictures = startPictures(() => true);
    const accounts = Array.from({ length: 32 }, (_, index) => `account-${index}`);
    // Two thumbnails are in progress.
    const countOf = (index: number) => (index < 2 ? 17 : 16);
    const waiting = accounts.flatMap((account, place) =>
      Array.from({ length: countOf(place) }, (_, index) => pictures.scale(account, index)),
    );
    const ends = Promise.allSettled(waiting);
    const refusal = { code: 'QUEUE_FULL', retryAfterSeconds: 2 };
    await expect(pictures.scale('another', 0)).rejects.toMatchObject(refusal);
    pictures[Symbol.dispose]();
    expect((await ends).every(({ status }) => status === 'rejected')).toBe(true);

    using others = startPictures(() => true);
    void Promise.allSettled(Array.from({ length: 17 }, (_, index) => others.scale('first', index)));
    await expect(others.scale('first', 17)).rejects.toMatchObject(refusal);
  });

  test('are cancelled, waiting or in progress, when all their clients have left', async () => {
    let isStuck = true;
    using pictures = startPictures((name) => isStuck && name === 'a-0');
    const clients = Array.from({ length: 4 }, () => new AbortController());
    const [running, shared, sharing, dropped] = [0, 1, 1, 2].map((index, client) =>
      pictures.scale('a', index, clients[client]?.signal),
    );
    await vi.waitFor(() => expect([...pictures.reads.keys()]).toEqual(['a-0']));
    // One of the two clients of the shared picture leaves.
    for (const client of [1, 3, 0]) clients[client]?.abort();
    for (const left of [running, shared, dropped]) await expect(left).rejects.toThrow('aborted');
    expect((await sharing)?.picture.length).toBeGreaterThan(0);
    expect([...pictures.reads.keys()]).toEqual(['a-0', 'a-1']);
    expect(pictures.reads.get('a-0')?.aborted).toBe(true);
    // The cancelled picture does not count as broken.
    isStuck = false;
    expect((await pictures.scale('a', 0)).picture.length).toBeGreaterThan(0);
  });

  test('are refused for a while to an account whose pictures took too long', async () => {
    using pictures = startPictures(() => false, new TokenBuckets({ capacity: 0.001, perSecond: 0.001 }));
    await pictures.scale('first', 0);
    const { retryAfterSeconds } = (await pictures
      .scale('first', 1)
      .catch((error: RetryLaterError) => error)) as RetryLaterError;
    expect(retryAfterSeconds).toBeGreaterThan(900);
    // Cached pictures cost no time.
    await Promise.all([pictures.scale('first', 0), pictures.scale('second', 0)]);
  });
});

test.each([
  ['a thumbnail', (uuid: string, signal: AbortSignal) => front.call(`/captures/${uuid}/thumbnail`, { signal })],
  [
    'a picture for an agent',
    (uuid: string, signal: AbortSignal) => {
      const params = { name: 'get_capture', arguments: { uuid, includeImage: true } };
      return front.call('/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
        signal,
      });
    },
  ],
])('the front stops waiting for %s when its client disconnects', async (_name, ask) => {
  const uuid = await captured(await page(64, 64, 32).png().toBuffer(), { width: 64, height: 64 });
  const asked = Promise.withResolvers<AbortSignal>();
  const scale = vi.spyOn(ScaledPictures.prototype, 'scale').mockImplementationOnce((_file, _wanted, { clientGone }) => {
    asked.resolve(clientGone);
    return untilAborted(new Promise<never>(() => undefined), clientGone);
  });
  const client = new AbortController();
  const answer = ask(uuid, client.signal);
  const clientGone = await asked.promise;
  scale.mockRestore();
  expect(clientGone.aborted).toBe(false);
  client.abort();
  await expect(answer).rejects.toThrow('aborted');
  await vi.waitFor(() => expect(clientGone.aborted).toBe(true));
});

const storedFile: StoredFile = {
  name: '',
  contentType: 'image/png',
  size: 100,
  etag: 'tag',
  storedAt: 0,
  expiresAt: Infinity,
  width: 64,
  height: 64,
};
