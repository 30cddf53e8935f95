import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import type { CaptureEvent } from '@webcapture/shared/api/capture-event.ts';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { CaptureResult } from '@webcapture/shared/api/capture.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import { PictureComparisons } from '../../../services/front/pictures/picture-comparisons.ts';
import { CaptureEvents } from '../../../services/front/events/capture-events.ts';
import { fake } from '../../harness/fake.ts';
import { newFile } from '../../harness/records.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { dataOf, send } from './accounts.ts';
import { fileStatus, type Holder, openHolder, startBackgroundFront } from './background.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startBackgroundFront();
});
afterAll(() => front[Symbol.asyncDispose]());

const size = { width: 200, height: 100 };
const viewport = { ...size, deviceScaleFactor: 1 };
type Format = 'png' | 'jpeg' | 'webp';

interface Square {
  readonly x: number;
  readonly y: number;
  readonly side: number;
}

/** A white picture with a black square, or without. */
async function picture(square?: Square, format: Format = 'png', { width, height } = size): Promise<Buffer> {
  const white = sharp({ create: { width, height, channels: 3, background: '#fff' } });
  const drawn =
    square === undefined
      ? white
      : white.composite([
          {
            input: { create: { width: square.side, height: square.side, channels: 3, background: '#000' } },
            left: square.x,
            top: square.y,
          },
        ]);
  return drawn.toFormat(format, { quality: 100 }).toBuffer();
}

const show = (bytes: Buffer) => (front.renderer.fileOf = () => bytes);

/** Opens a capture that shows a white picture, and refreshes it with the given files. */
async function refreshed(files: readonly Buffer[], persistence: object, { limits = {}, body = {} } = {}) {
  const holder = await openHolder(front, limits);
  const format = (body as { format?: Format }).format ?? 'png';
  show(await picture(undefined, format));
  const request = { viewport, persistence: { enabled: true, ...persistence }, ...body };
  const { uuid } = await holder.queue(request);
  await holder.until(uuid, 'completed');
  const refresh = async (bytes: Buffer): Promise<CaptureRecord> => {
    show(bytes);
    await holder.refresh(uuid);
    return until('the refresh to end', async () => {
      const record = await holder.record(uuid);
      return record.refresh?.endedAt === undefined ? null : record;
    });
  };
  for (const file of files) await refresh(file);
  return { holder, uuid, refresh, state: async () => (await holder.state(uuid)) as unknown as CaptureResult };
}

const historyOf = async ({ key }: Holder, uuid: string) =>
  dataOf<CaptureHistory>(await send(`${front.url}/captures/${uuid}/history`, key));

const read = async (url: string | null | undefined) =>
  Buffer.from(await (await fetch(String(url).replace('https://cdn.test', `${front.url}/files`))).arrayBuffer());

/** Returns a function that returns the comparisons since this call, by result. */
async function countComparisons() {
  const read = async () => {
    const { values = [] } = (await front.metrics.getSingleMetric('webcapture_front_comparisons_total')?.get()) ?? {};
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels['result']), value]));
  };
  const before = await read();
  return async () =>
    Object.fromEntries(Object.entries(await read()).map(([name, at]) => [name, at - (before[name] ?? 0)]));
}

const square = { x: 20, y: 30, side: 40 };
const squareShare = 40 ** 2 / (200 * 100);

describe('a refresh whose picture has changed', () => {
  const expectDifference = async (format: Format) => {
    const body = { format };
    const { state } = await refreshed([await picture(square, format)], { compare: {} }, { body });
    const { comparison } = (await state()).refresh ?? {};
    expect(comparison?.changedShare).toBeCloseTo(squareShare, 2);
    expect(comparison).toMatchObject({ hasChanged: true, previousFileUrl: null });
    const { data, info } = await sharp(await read(comparison?.differenceUrl))
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(info).toMatchObject(size);
    const pixelAt = (x: number, y: number) => [...data.subarray((y * info.width + x) * info.channels).subarray(0, 3)];
    expect(pixelAt(40, 50)).toEqual([214, 0, 80]);
    expect(pixelAt(150, 50)).toEqual([255, 255, 255]);
  };

  test('has the changed share and a picture of the differences: png', () => expectDifference('png'));

  test.each<Format>(['jpeg', 'webp'])(
    'has the changed share and a picture of the differences: %s',
    { tags: 'long' },
    expectDifference,
  );

  test('sends the event capture.changed, also in the stream of events', async () => {
    const leaving = new AbortController();
    const events = new CaptureEvents(front.nats.session, leaving.signal);
    const body = { webhook: { url: 'https://example.com/hook' } };
    const { holder, uuid, refresh } = await refreshed([], { compare: {} }, { body });
    const seen: CaptureEvent[] = [];
    await events.listen(
      holder.account,
      { onChange: (event) => seen.push(event), onLost: () => undefined },
      leaving.signal,
    );
    expect((await refresh(await picture(square))).webhook).toMatchObject({ event: 'capture.changed', revision: 1 });
    await until('the event', () => Promise.resolve(seen.find(({ refresh: state }) => state === 'completed') ?? null));
    expect(seen.at(-1)).toEqual({ uuid, status: 'completed', refresh: 'completed', changedShare: squareShare });
    expect((await refresh(await picture(square))).webhook).toMatchObject({ event: 'capture.refreshed', revision: 2 });
    leaving.abort();
  });

  test('shows in the history which files it compared', async () => {
    const other = { ...square, x: 120 };
    const files = [await picture(square), await picture(square), await picture(other)];
    const compared = await countComparisons();
    const { holder, uuid, state } = await refreshed(files, { history: 5, compare: { threshold: 0.2 } });
    const { refreshes, files: earlier } = await historyOf(holder, uuid);
    const shares = [2 * squareShare, 0, squareShare];
    expect(await compared()).toEqual({ equal: 1, changed: 2, skipped: 0, postponed: 0 });
    expect(refreshes.map(({ comparison }) => comparison?.changedShare)).toEqual(shares);
    expect(earlier.map(({ comparison }) => comparison?.changedShare)).toEqual(shares);
    expect(refreshes.map(({ comparison }) => comparison?.differenceUrl === null)).toEqual([false, true, false]);
    expect((await state()).refresh?.comparison?.previousFileUrl).toBe(earlier[0]?.fileUrl);
    expect((await read(earlier[0]?.fileUrl)).equals(files[1] ?? Buffer.alloc(0))).toBe(true);
  });

  test('has changed only if the share exceeds minShare', async () => {
    const files = [await picture(square)];
    const atLimit = await refreshed(files, { compare: { minShare: squareShare } });
    expect((await atLimit.state()).refresh?.comparison).toMatchObject({ changedShare: squareShare, hasChanged: false });
    const above = await refreshed(files, { compare: { minShare: squareShare - 0.001 } });
    expect((await above.state()).refresh?.comparison?.hasChanged).toBe(true);
  });

  test('does not count changes in ignored areas, in CSS pixels of the picture', async () => {
    const files = [await picture(square)];
    const whole = { x: 20, y: 30, width: 40, height: 40 };
    const ignored = await refreshed(files, { compare: { ignoreAreas: [whole] } });
    expect((await ignored.state()).refresh?.comparison).toMatchObject({ changedShare: 0, differenceUrl: null });
    // A picture of 100 × 50 CSS pixels.
    const half = { x: 10, y: 15, width: 20, height: 10 };
    const body = { viewport: { width: 100, height: 50, deviceScaleFactor: 2 } };
    front.renderer.changeUpload = (upload) => ({ ...upload, ...size });
    try {
      const scaled = await refreshed(files, { compare: { ignoreAreas: [half] } }, { body });
      expect((await scaled.state()).refresh?.comparison?.changedShare).toBe(squareShare / 2);
    } finally {
      front.renderer.changeUpload = (upload) => upload;
    }
  });
});

test('a refresh does not count changes of ignored elements, where they are and where they were', async () => {
  const behaviour = { ...front.renderer };
  const areas = [
    { x: 100, y: 0, width: 10, height: 10 },
    { x: 20, y: 30, width: 40, height: 20 },
  ];
  front.renderer.changeOutcome = (outcome) => ({ ...outcome, ignored: areas.splice(0, 1) });
  try {
    const { state, holder, uuid } = await refreshed([await picture(square)], { compare: { ignore: ['.ad'] } });
    expect((await state()).refresh?.comparison?.changedShare).toBe(squareShare / 2);
    expect(front.renderer.jobs.at(-1)?.ignore).toEqual(['.ad']);
    expect((await holder.record(uuid)).outcome?.ignored).toEqual([{ x: 20, y: 30, width: 40, height: 20 }]);
  } finally {
    front.renderer.changeOutcome = behaviour.changeOutcome;
  }
});

describe('the picture of the differences', () => {
  test('is removed when a later refresh has another one, and with the capture', async () => {
    const { holder, uuid, refresh, state } = await refreshed([await picture(square)], { compare: {} });
    const differenceOf = async () => ({ fileUrl: (await state()).refresh?.comparison?.differenceUrl });
    const [first] = [await differenceOf()];
    const { earlierFiles = [], comparisons, bytes, outcome } = await refresh(await picture({ ...square, x: 60 }));
    expect([earlierFiles.length, comparisons?.length]).toEqual([0, 1]);
    await until('its removal', async () => ((await fileStatus(front, first)) === 404 ? true : null));
    const second = await differenceOf();
    expect(await fileStatus(front, second)).toBe(200);
    expect(bytes?.persistedBytes).toBe((outcome?.fileSizeBytes ?? 0) + (comparisons?.[0]?.difference?.bytes ?? 0));
    await holder.remove(uuid);
    expect(await fileStatus(front, second)).toBe(404);
    const { persistedBytes } = dataOf<UsageView>(await send(`${front.url}/usage`, holder.key));
    expect(persistedBytes).toBe(0);
  });

  test('is not stored if the account has no room for it, and the refresh completes', async () => {
    const changed = await picture(square);
    const limits = { maxPersistedBytes: Math.max(changed.length, (await picture()).length) };
    const { state, holder } = await refreshed([changed], { compare: {} }, { limits });
    expect((await state()).refresh).toMatchObject({
      state: 'completed',
      comparison: { changedShare: squareShare, hasChanged: true, differenceUrl: null },
    });
    expect(await holder.ledger()).toEqual(await holder.sumOfRecords());
  });
});

test('a refresh completes without a comparison if a file cannot be decoded, and the earlier file is not kept', async () => {
  const damaged = (await picture(square)).subarray(0, 60);
  const compared = await countComparisons();
  const { state, holder, uuid } = await refreshed([damaged], { compare: {} });
  const { refresh } = await state();
  expect(refresh?.state).toBe('completed');
  expect(refresh).not.toHaveProperty('comparison');
  expect(await compared()).toMatchObject({ skipped: 1 });
  const record = await holder.record(uuid);
  expect(record.refresh?.earlierName).toBeDefined();
  expect(await front.renderer.store.stat(record.refresh?.earlierName ?? '')).toBeNull();
});

test('a comparison that cannot start in time is left for later', async () => {
  const reading = Promise.withResolvers<void>();
  const store = {
    async *read(): AsyncIterable<Uint8Array> {
      reading.resolve();
      await new Promise(() => undefined);
      yield new Uint8Array();
    },
  };
  const counted: string[] = [];
  const count = (result: string) => void counted.push(result);
  const comparisons = new PictureComparisons({ store: fake(store), now: Date.now, log: silentLog, count });
  const file = (): StoredFile => ({ ...newFile(10), etag: crypto.randomUUID(), size: 10, storedAt: 0 });
  const files = { before: file(), after: file(), threshold: 0.1, ignored: [] };
  const running = comparisons.compare(files, { account: 'a' });
  await reading.promise;
  const late = comparisons.compare(files, { account: 'b', waitMs: 20 });
  await expect(late).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  await comparisons.close();
  await expect(running).rejects.toMatchObject({ code: 'QUEUE_FULL' });
  expect(counted).toEqual(['postponed', 'postponed']);
});
