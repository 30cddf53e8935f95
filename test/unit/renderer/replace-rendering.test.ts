import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import sharp from 'sharp';
import { captureJobVersion, type CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import { mimeTypes, type Format } from '@webcapture/shared/contract/formats.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { EmbeddedStore } from '@webcapture/shared/storage/embedded-store.ts';
import { newFileName } from '@webcapture/shared/storage/file-name.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { ByteRange, CallLimits, FileStore, StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { Rendering } from '../../../services/renderer/capture/engine.ts';
import { replaceRendering } from '../../../services/renderer/job/replace-rendering.ts';
import { storeRendering } from '../../../services/renderer/job/store.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { defaultOptions, plainReport } from '../../harness/records.ts';
import { html, TestEngine } from '../../harness/engine.ts';

let nats: TestNats;
let store: EmbeddedStore;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  store = new EmbeddedStore(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

function newJob(format: Format = 'png'): CaptureJob {
  const uuid = randomUUIDv7();
  const acceptedAt = Date.now();
  return {
    version: captureJobVersion,
    uuid,
    revision: 1,
    account: 'a',
    region: 'us-east',
    lane: 'background',
    acceptedAt,
    startBy: acceptedAt + 60_000,
    deadline: acceptedAt + 60_000,
    wantsBytes: false,
    fileName: newFileName(uuid, format),
    source: { kind: 'url', url: 'https://example.com/' },
    options: { ...defaultOptions, format },
  };
}

async function rendered(background: string, changes: { level?: number; height?: number } = {}): Promise<Rendering> {
  const { level = 6, height = 20 } = changes;
  const picture = sharp({ create: { width: 30, height, channels: 3, background } });
  const bytes = await picture.png({ compressionLevel: level }).toBuffer();
  return { bytes, mimeType: mimeTypes.png, width: 30, height, report: plainReport };
}

/** A file that is there, and how to put another in its place. */
async function stored(rendering: Rendering) {
  const job = newJob();
  const { expiresAt } = await storeRendering(
    rendering,
    { job, lifetimeMs: 3_600_000, queueMs: 0, cacheSeconds: 300 },
    store,
  );
  const old = (await store.stat(job.fileName)) as StoredFile;
  const refresh = (
    next: Rendering,
    changes: { expiresAt?: number; deadline?: number } = {},
    through: Partial<FileStore> = {},
  ) => replaceRendering(next, { job, expiresAt, queueMs: 7, cacheSeconds: 300, ...changes }, storeWith(through));
  return { name: job.fileName, old, expiresAt, refresh };
}

const storeWith = (changes: Partial<FileStore>): FileStore => ({
  create: (file) => store.create(file),
  replace: (file, previous) => store.replace(file, previous),
  stat: (name) => store.stat(name),
  read: (file, range) => store.read(file, range),
  remove: (name) => store.remove(name),
  list: (after, limit) => store.list(after, limit),
  ...changes,
});

async function bytesOf(name: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read((await store.stat(name)) as StoredFile)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('another picture takes the place of the file', async () => {
  const { name, old, expiresAt, refresh } = await stored(await rendered('#fff'));
  const next = await rendered('#000', { height: 40 });
  const from = Date.now();
  const result = await refresh(next);
  expect(result).toMatchObject({
    isSame: false,
    expiresAt,
    outcome: { region: 'us-east', mimeType: 'image/png', fileSizeBytes: next.bytes.length, width: 30, height: 40 },
  });
  expect(result.outcome.report.timings).toMatchObject({ queueMs: 7, navigateMs: 2 });
  expect(result.outcome.capturedAt).toBeGreaterThanOrEqual(from);
  const found = await store.stat(name);
  expect(found).toMatchObject({ height: 40, cacheSeconds: 300, expiresAt });
  expect(found?.etag).not.toBe(old.etag);
  expect((await bytesOf(name)).equals(next.bytes)).toBe(true);
});

test('the same picture in other bytes leaves the file as it is', async () => {
  const first = await rendered('#abc', { level: 1 });
  const { name, old, refresh } = await stored(first);
  const next = await rendered('#abc', { level: 0 });
  expect(next.bytes.length).not.toBe(first.bytes.length);
  // What the record tells is true of the file.
  expect(await refresh(next)).toMatchObject({ isSame: true, outcome: { fileSizeBytes: first.bytes.length } });
  expect(await store.stat(name)).toEqual(old);
  expect((await bytesOf(name)).equals(first.bytes)).toBe(true);
});

test('the same picture that is to be kept for longer keeps its bytes and its tag', async () => {
  const first = await rendered('#abc', { level: 1 });
  const { name, old, expiresAt, refresh } = await stored(first);
  const later = expiresAt + 60_000;
  const result = await refresh(await rendered('#abc', { level: 0 }), { expiresAt: later });
  expect(result).toMatchObject({ isSame: true, expiresAt: later, outcome: { fileSizeBytes: first.bytes.length } });
  expect(await store.stat(name)).toMatchObject({ etag: old.etag, expiresAt: later });
  expect((await bytesOf(name)).equals(first.bytes)).toBe(true);
});

test('a file that is gone is stored anew', async () => {
  const { name, refresh } = await stored(await rendered('#fff'));
  await store.remove(name);
  const next = await rendered('#fff');
  expect(await refresh(next)).toMatchObject({ isSame: false, outcome: { fileSizeBytes: next.bytes.length } });
  expect((await bytesOf(name)).equals(next.bytes)).toBe(true);
});

test('a file whose bytes cannot be read to the end is replaced', async () => {
  const first = await rendered('#fff');
  const { name, refresh } = await stored(first);
  const read = async function* () {
    yield first.bytes.subarray(0, 10);
    throw new ServiceError('STORAGE_FAILED');
  };
  const next = await rendered('#fff', { level: 0 });
  expect(await refresh(next, {}, { read })).toMatchObject({ isSame: false });
  expect((await bytesOf(name)).equals(next.bytes)).toBe(true);
});

describe('somebody else', () => {
  test('who replaces the file meanwhile with the same picture leaves nothing to do', async () => {
    const { name, refresh } = await stored(await rendered('#fff'));
    const next = await rendered('#000', { level: 1 });
    let turn = 0;
    const replace: FileStore['replace'] = async (file, previous) => {
      if (++turn === 1) await refresh(next);
      return store.replace(file, previous);
    };
    const result = await refresh(await rendered('#000', { level: 0 }), {}, { replace });
    expect([turn, result.isSame, result.outcome.fileSizeBytes]).toEqual([1, true, next.bytes.length]);
    expect((await bytesOf(name)).equals(next.bytes)).toBe(true);
  });

  test('who replaces it meanwhile with another picture is overwritten', async () => {
    const { name, refresh } = await stored(await rendered('#fff'));
    const [other, next] = [await rendered('#f00'), await rendered('#000')];
    let turn = 0;
    const replace: FileStore['replace'] = async (file, previous) => {
      if (++turn === 1) await refresh(other);
      return store.replace(file, previous);
    };
    expect(await refresh(next, {}, { replace })).toMatchObject({ isSame: false });
    expect((await bytesOf(name)).equals(next.bytes)).toBe(true);
  });

  test('who removes it meanwhile has it stored anew', async () => {
    const { name, refresh } = await stored(await rendered('#fff'));
    const next = await rendered('#000');
    const replace: FileStore['replace'] = async (file, previous) => {
      await store.remove(name);
      return store.replace(file, previous);
    };
    expect(await refresh(next, {}, { replace })).toMatchObject({ isSame: false });
    expect((await bytesOf(name)).equals(next.bytes)).toBe(true);
  });

  test('who is always quicker makes it fail, and the file is theirs', async () => {
    const { name, old, refresh } = await stored(await rendered('#fff'));
    const refreshing = refresh(await rendered('#000'), {}, { replace: () => Promise.resolve(null) });
    await expect(refreshing).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    expect(await store.stat(name)).toEqual(old);
  });
});

test('a store that is away for a moment is asked again, one that stays away ends it', async () => {
  const { refresh } = await stored(await rendered('#fff'));
  let turn = 0;
  const stat: FileStore['stat'] = (name) =>
    ++turn === 1 ? Promise.reject(new ServiceError('STORAGE_FAILED')) : store.stat(name);
  expect(await refresh(await rendered('#000'), {}, { stat })).toMatchObject({ isSame: false });
  const away = () => Promise.reject(new ServiceError('STORAGE_FAILED'));
  await expect(refresh(await rendered('#fff'), {}, { stat: away })).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
});

describe('a refresh ends at its deadline', () => {
  /** What a store does that stays away: it fails at the deadline that it is told, else long after. */
  const late = async ({ deadline = Date.now() + 15_000 }: CallLimits = {}): Promise<never> => {
    // Timers may be a millisecond early.
    await delay(deadline - Date.now() + 2);
    throw new ServiceError('STORAGE_FAILED');
  };
  test.concurrent.each([
    ['does not find files', { stat: (_: string, limits?: CallLimits) => late(limits) }],
    ['refuses at once', { stat: () => Promise.reject(new ServiceError('STORAGE_FAILED')) }],
    [
      'does not read them',
      {
        read: async function* (_: StoredFile, __?: ByteRange, limits?: CallLimits) {
          yield Buffer.alloc(1);
          await late(limits);
        },
      },
    ],
  ] satisfies [string, Partial<FileStore>][])('with a store that %s', async (_, away) => {
    const { name, old, refresh } = await stored(await rendered('#fff'));
    const start = Date.now();
    const refreshing = refresh(await rendered('#fff', { level: 0 }), { deadline: start + 400 }, away);
    await expect(refreshing).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    // Else it would be 15 seconds, or as many tries as there may be.
    expect(Date.now() - start).toBeLessThan(10_000);
    expect(await store.stat(name)).toEqual(old);
  });
});

test('a page of Chromium that is rendered again keeps its tag as picture and as pdf', async () => {
  const engine = await TestEngine.start();
  try {
    const page = (text: string) => ({ kind: 'html', html: html(`<h1>${text}</h1>`) }) as const;
    for (const format of ['png', 'pdf'] as const) {
      const job = newJob(format);
      const expiresAt = Date.now() + 3_600_000;
      const refresh = async (text: string) =>
        replaceRendering(await engine.render(page(text), { format }), { job, expiresAt, queueMs: 0 }, store);
      expect(await refresh('Monday')).toMatchObject({ isSame: false });
      const first = await store.stat(job.fileName);
      // Pdfs tell the time in seconds.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect(await refresh('Monday')).toMatchObject({ isSame: true });
      expect(await store.stat(job.fileName)).toEqual(first);
      expect(await refresh('Tuesday')).toMatchObject({ isSame: false });
      expect((await store.stat(job.fileName))?.etag).not.toBe(first?.etag);
    }
  } finally {
    await engine.close();
  }
});
