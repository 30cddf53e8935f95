import { randomUUIDv7 } from 'node:crypto';
import { Registry } from 'prom-client';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Format } from '@webcapture/shared/api/formats.ts';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { createScaledPictureMetrics } from '../../../services/front/metrics.ts';
import { ScaledPictures } from '../../../services/front/pictures/scaled-pictures.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { pngLike } from '../../harness/records.ts';
import { bytesOf, read, startStand, type Stand } from './stand.ts';

let stand: Stand;
let lines: string[] = [];
let skewMs = 0;
beforeAll(async () => {
  const warn = ({ err }: { err: Error }) => void lines.push(err.message);
  const log = Object.create(silentLog, { warn: { value: warn } }) as Logger;
  stand = await startStand({}, { log, now: () => Date.now() + skewMs });
});
afterAll(() => stand[Symbol.asyncDispose]());
beforeEach(() => {
  lines = [];
  skewMs = 0;
});

/** A capture whose renderer made this file, and says that it has this size. */
async function captured(
  bytes: Buffer,
  size: { width: number; height: number },
  format: Format = 'png',
): Promise<string> {
  stand.renderer.fileOf = () => bytes;
  stand.renderer.changeUpload = (upload) => ({ ...upload, ...size });
  const { status, body } = await read(await stand.capture({ url: 'https://example.com/', format, cdnTtl: 600 }));
  expect(status).toBe(200);
  return String(body.data?.['uuid']);
}

const get = (uuid: string, query = '', headers: Record<string, string> = {}) =>
  stand.call(`/captures/${uuid}/thumbnail${query}`, { headers });
const refusal = async (uuid: string, query = '') => {
  const { status, body } = await read(await get(uuid, query));
  return { status, ...body.error };
};
const results = async () => {
  const { values = [] } = (await stand.metrics.getSingleMetric('webcapture_front_pictures_total')?.get()) ?? {};
  const count = (result: string) => values.find(({ labels }) => labels['result'] === result)?.value ?? 0;
  return { scaled: count('scaled'), cached: count('cached') };
};

/** Red on top, blue below. */
const page = (width: number, height: number, redHeight: number) =>
  sharp({ create: { width, height, channels: 3, background: 'blue' } }).composite([
    { input: { create: { width, height: redHeight, channels: 3, background: 'red' } }, left: 0, top: 0 },
  ]);

test('a thumbnail is a WebP of at most the width, and a client keeps it', async () => {
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
  // Never larger than the file.
  expect(await sharp(await bytesOf(await get(uuid, '?width=1568'))).metadata()).toMatchObject({
    width: 1280,
    height: 720,
  });
});

test.each(['png', 'jpeg', 'webp'] as const)('of a very tall %s it shows the top', async (format) => {
  const [width, height] = [64, { png: 100_000, jpeg: 60_000, webp: 16_000 }[format]];
  const file = await page(width, height, 64).toFormat(format).toBuffer();
  const picture = sharp(await bytesOf(await get(await captured(file, { width, height }, format), '?width=32')));
  expect(await picture.metadata()).toMatchObject({ width: 32, height: 48 });
  const { data } = await picture.raw().toBuffer({ resolveWithObject: true });
  const pixel = (row: number) => [...data.subarray((row * 32 + 16) * 3, (row * 32 + 16) * 3 + 3)];
  expect(pixel(4)[0]).toBeGreaterThan(200);
  expect(pixel(44)[2]).toBeGreaterThan(200);
});

test('whoever asks for the same picture shares it, and the next one has it from memory', async () => {
  const uuid = await captured(await page(800, 600, 300).png().toBuffer(), { width: 800, height: 600 });
  const before = await results();
  const pictures = await Promise.all([1, 2, 3].map(async () => bytesOf(await get(uuid))));
  expect(pictures[1]?.equals(pictures[0] as Buffer)).toBe(true);
  await get(uuid);
  const after = await results();
  expect(after).toEqual({ scaled: before.scaled + 1, cached: before.cached + 1 });
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

test('404 says why there is none', async () => {
  expect(await refusal(randomUUIDv7())).toMatchObject({ status: 404, code: 'CAPTURE_NOT_FOUND' });
  const pdf = await captured(Buffer.from('%PDF-1.7\nmore'), { width: 100, height: 100 }, 'pdf');
  expect(await refusal(pdf)).toMatchObject({
    status: 404,
    code: 'NOT_FOUND',
    message: expect.stringContaining('PDF') as unknown,
  });

  const uuid = await captured(await page(64, 64, 32).png().toBuffer(), { width: 64, height: 64 });
  const foreign = await stand.call(`/captures/${uuid}/thumbnail`, { key: await stand.makeKey() });
  expect([foreign.status, (await read(foreign)).body.error?.code]).toEqual([404, 'CAPTURE_NOT_FOUND']);
  skewMs = 700_000;
  expect(await refusal(uuid)).toMatchObject({
    status: 404,
    message: expect.stringContaining('no longer there') as unknown,
  });
  skewMs = 0;
  await stand.call(`/captures/${uuid}`, { method: 'DELETE' });
  expect(await refusal(uuid)).toMatchObject({ status: 404, message: expect.stringContaining('deleted') as unknown });
});

/** A progressive JPEG of a few bytes whose header asks its decoder for a gigabyte of coefficients. */
async function jpegBomb(width: number, height: number): Promise<Buffer> {
  const small = await page(64, 64, 32).jpeg({ progressive: true }).toBuffer();
  const at = small.indexOf(Buffer.from([0xff, 0xc2]));
  small.writeUInt16BE(height, at + 5);
  small.writeUInt16BE(width, at + 7);
  return small;
}

test('the front outlives what no decoder should be given, and says once what it was', async () => {
  const tall = { width: 64, height: 100_000 };
  const files: [reason: RegExp, bytes: Buffer, size: typeof tall, format: Format][] = [
    [/corrupt header/, pngLike(50_000, tall), tall, 'png'],
    [/pixel limit/, await pngOf(60_000, 60_000), { width: 60_000, height: 60_000 }, 'png'],
    [/[Mm]emory/, await jpegBomb(20_000, 19_000), { width: 20_000, height: 19_000 }, 'jpeg'],
    // As an SVG it would be a picture.
    [/corrupt header/, svg, { width: 64, height: 64 }, 'jpeg'],
  ];
  for (const [reason, bytes, size, format] of files) {
    const uuid = await captured(bytes, size, format);
    expect(await refusal(uuid)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect(lines).toEqual([expect.stringMatching(reason)]);
    // Told from memory.
    expect(await refusal(uuid)).toMatchObject({ status: 404 });
    expect(lines.length).toBe(1);
    lines = [];
  }
  const uuid = await captured(await page(64, 64, 32).png().toBuffer(), { width: 64, height: 64 });
  expect((await get(uuid)).status).toBe(200);
});

/** A whole PNG, of which only the header claims this size. */
async function pngOf(width: number, height: number): Promise<Buffer> {
  const small = await page(64, 64, 32).png().toBuffer();
  return Buffer.concat([pngLike(33, { width, height }), small.subarray(33)]);
}

const svg = Buffer.concat([
  Buffer.from([0xff, 0xd8, 0xff]),
  Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="9" height="9"/></svg>'),
]);

test('of more pictures than one account, or all of them, may have waiting, the rest is refused with Retry-After', async () => {
  const never = new Promise<never>(() => undefined);
  const pictures = new ScaledPictures({
    store: {
      stat: () => never,
      read: async function* () {
        yield await never;
      },
    },
    now: Date.now,
    metrics: createScaledPictureMetrics(new Registry()),
    log: silentLog,
  });
  const scale = (index: number, account: string) => {
    const file = { ...storedFile, name: `${account}-${index}` };
    return pictures.scale(file, { maxWidth: 32, maxAspect: 1, type: 'webp' }, account);
  };
  const waiting = ['first', 'second'].map((account) => Array.from({ length: 64 }, (_, index) => scale(index, account)));
  const refusal = { code: 'QUEUE_FULL', retryAfterSeconds: 2 };
  await expect(scale(64, 'first')).rejects.toMatchObject(refusal);
  await expect(scale(0, 'third')).rejects.toMatchObject(refusal);
  pictures.close();
  const ends = await Promise.allSettled(waiting.flat());
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
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
