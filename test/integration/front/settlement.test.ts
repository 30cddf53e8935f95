import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { JobResult } from '@webcapture/shared/queue/results.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { maxStoredBytes, packExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { readExtracted } from '@webcapture/shared/files/read-extracted.ts';
import { extractedName } from '@webcapture/shared/files/file-name.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import { complete, fail, remove, startRefresh, type RefreshOrder } from '@webcapture/shared/captures/transitions.ts';
import { chargesOf } from '../../harness/limits.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { defaultOptions, newOutcome, newRecord } from '../../harness/records.ts';
import { completedBy, resultOf, SettlingParts } from '../../harness/settling.ts';
import { StandInRenderer } from '../../harness/stand-in-renderer.ts';

let nats: TestNats;
let renderer: StandInRenderer;
let parts: SettlingParts;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  renderer = new StandInRenderer(await nats.connect(), 'us-east');
  parts = new SettlingParts(nats.session);
});
afterAll(() => nats[Symbol.asyncDispose]());

const usageOf = async (account: string) =>
  chargesOf(await new AccountUsage(nats.session).read(account, Date.now(), 'exact'));

const orderOf = (revision: number): RefreshOrder => ({
  revision,
  by: 'request',
  region: 'us-east',
  acceptedAt: Date.now(),
  startBy: Date.now() + 60_000,
  deadline: Date.now() + 120_000,
});

const lost = { code: 'CAPTURE_TIMEOUT', message: 'It took too long.', cause: 'service' } as const;

interface Rendered {
  readonly record: CaptureRecord;
  readonly job: CaptureJob;
  readonly result: JobResult;
}

/** Uploads the file of a job as a renderer; returns its result. */
async function render(record: CaptureRecord, revision = 0): Promise<Rendered> {
  const job = await parts.jobOf(record, revision);
  const completed = { ...completedBy(await renderer.upload(job)), ...(await renderer.uploadExtracted(job)) };
  return { record, job, result: resultOf(job, completed) };
}

const interactive = (account: string) => render(newRecord({ account, tokenCost: 2 }));

async function background(account: string): Promise<Rendered> {
  const record = newRecord({ account, tokenCost: 2, priority: 'background' });
  await parts.captures.create(record);
  return render(record);
}

/** Renders the first refresh of a completed capture. */
async function refresh(account: string): Promise<Rendered> {
  const first = await background(account);
  await parts.settle(first.result);
  const record = await parts.captures.change(first.record, startRefresh(orderOf(1)));
  if (record === null) throw new Error('the record is gone');
  return render(record, 1);
}

describe('a result that the front has settled for its client', () => {
  const requests = () => nats.session.nc.stats().outMsgs;

  test.each(['completed', 'failed'] as const)('needs no NATS request when it is dequeued: %s', async (kind) => {
    const { job, result: completed, record } = await interactive('awaited');
    const result = kind === 'completed' ? completed : resultOf(job, { kind, ...lost });
    expect(await parts.settle(result, { isAwaited: true })).toMatchObject({ outcome: kind });
    const before = requests();
    expect(await parts.settle(result)).toMatchObject({
      outcome: 'repeated',
      record: { uuid: record.uuid, status: kind },
    });
    expect(requests()).toBe(before);
    // The cached settlement serves one delivery only.
    expect(await parts.settle(result)).toMatchObject({ outcome: 'repeated', record: { status: kind } });
    expect(requests()).toBeGreaterThan(before);
  });

  test('is checked again if its region or its content differs', async () => {
    const { job, result } = await interactive('awaited');
    await parts.settle(result, { isAwaited: true });
    expect(await parts.settle(result, { region: 'eu-west' })).toMatchObject({ outcome: 'forged' });
    const other = resultOf(job, completedBy(await renderer.upload(job)));
    expect(await parts.settle(other)).toMatchObject({ outcome: 'ended', record: { status: 'completed' } });
    expect(await parts.partsOf(job)).toBe(1);
    expect(await parts.settle(resultOf(job, { kind: 'failed', ...lost }))).toMatchObject({ outcome: 'ended' });
  });
});

test('a result is settled once and charged once, even if several fronts settle it at once', async () => {
  const fronts = await Promise.all([1, 2].map(async () => new SettlingParts(await nats.connect())));
  const refreshes = await Promise.all(Array.from({ length: 14 }, () => refresh('fifty')));
  const before = await usageOf('fifty');
  const rendered = [
    ...(await Promise.all(Array.from({ length: 20 }, () => interactive('fifty')))),
    ...(await Promise.all(Array.from({ length: 16 }, () => background('fifty')))),
    ...refreshes,
  ];
  const settlements = await Promise.all(
    rendered.flatMap(({ result }) =>
      fronts.flatMap((front) => [true, false].map((isAwaited) => front.settle(result, { isAwaited }))),
    ),
  );
  const outcomes = fronts.flatMap((front) => front.outcomes);
  expect(outcomes).toHaveLength(200);
  const completed = outcomes.filter((outcome) => outcome === 'completed').length;
  expect(completed).toBe(50);
  expect(outcomes.filter((outcome) => outcome === 'repeated')).toHaveLength(150);
  expect(fronts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(100);
  expect(settlements.every(({ record }) => record?.status === 'completed')).toBe(true);
  expect(await usageOf('fifty')).toEqual({
    tokens: before.tokens + 100,
    captures: before.captures + 50,
    reserved: 0,
    queued: 0,
  });
  for (const { record, job, result } of rendered) {
    const found = (await parts.captures.get('fifty', record.uuid))?.value;
    expect(found?.status).toBe('completed');
    if (job.revision === 1) expect(found?.refresh?.state).toBe('completed');
    const file = await parts.store.stat(record.fileName);
    const { outcome } = result;
    // A refresh that equals the previous picture keeps the file.
    expect(file?.size).toBe(outcome.kind === 'completed' ? outcome.upload.size : 0);
  }
});

test("a failure is settled once, is not charged, and keeps the renderer's message", async () => {
  for (const make of [interactive, background, refresh]) {
    const { record, job } = await make('fails');
    const before = await usageOf('fails');
    const failed = resultOf(job, {
      kind: 'failed',
      code: 'NAVIGATION_FAILED',
      message: 'There is no such host.',
      cause: 'page',
    });
    const settled = await Promise.all([true, false, false].map((isAwaited) => parts.settle(failed, { isAwaited })));
    expect(settled.map(({ outcome }) => outcome).toSorted()).toEqual(['failed', 'repeated', 'repeated']);
    const found = (await parts.captures.get('fails', record.uuid))?.value;
    const failure = job.revision === 0 ? found?.failure : found?.refresh?.failure;
    expect(failure).toEqual({ code: 'NAVIGATION_FAILED', message: 'There is no such host.', cause: 'page' });
    expect(await usageOf('fails')).toMatchObject({ tokens: before.tokens, captures: before.captures, queued: 0 });
  }
});

describe('a result is not charged and its file is removed', () => {
  /** Settles the result once as the waiting front and once as another front. Both must get the outcome. */
  async function settleInVain({ record, job, result }: Rendered, outcome: 'ended' | 'unknown', at?: number) {
    const { account } = record;
    const before = await usageOf(account);
    for (const isAwaited of [true, false]) {
      expect(await parts.settle(result, { isAwaited, ...(at === undefined ? {} : { at }) })).toMatchObject({ outcome });
      expect(parts.outcomes.at(-1)).toBe(outcome);
    }
    expect(await usageOf(account)).toEqual(before);
    expect(await parts.store.stat(job.file.object)).toBeNull();
    expect(await parts.partsOf(job)).toBe(0);
  }

  test('for an interactive capture that was cancelled', async () => {
    const rendered = await interactive('cancelled');
    await parts.captures.end(ticketOf(rendered.job), fail(0, { ...lost, cancelled: true }));
    await settleInVain(rendered, 'ended');
  });

  test('for an interactive capture that timed out', async () => {
    const rendered = await interactive('too-long');
    await parts.captures.end(ticketOf(rendered.job), fail(0, lost));
    await settleInVain(rendered, 'ended');
    expect((await parts.captures.get('too-long', rendered.record.uuid))?.value.failure).toEqual(lost);
  });

  test('for a background capture that failed at its deadline', async () => {
    const rendered = await background('late');
    await parts.captures.fail(rendered.record, lost);
    await settleInVain(rendered, 'ended');
  });

  test('for a deleted capture', async () => {
    const rendered = await background('deleted');
    await parts.captures.change(rendered.record, remove);
    await settleInVain(rendered, 'ended');
    expect((await parts.captures.get('deleted', rendered.record.uuid))?.value.status).toBe('deleted');
  });

  test('for a capture whose record is gone', async () => {
    const rendered = await background('gone');
    await new Entries(nats.session, 'db').delete(captureKey('gone', rendered.record.uuid));
    await settleInVain(rendered, 'unknown');
    expect(await parts.captures.get('gone', rendered.record.uuid)).toBeNull();
  });

  test('for a refresh that a later one replaced', async () => {
    const late = await refresh('replaced');
    const { record } = late;
    const inPlace = await parts.store.stat(record.fileName);
    await parts.captures.fail({ ...record, revision: 1 }, lost);
    await parts.captures.change(record, startRefresh(orderOf(2)));
    await settleInVain(late, 'ended');
    expect((await parts.captures.get('replaced', record.uuid))?.value.refresh).toMatchObject({
      revision: 2,
      state: 'queued',
    });
    expect(await parts.store.stat(record.fileName)).toEqual(inPlace);
  });

  test('for a refresh of a capture that was deleted meanwhile', async () => {
    const rendered = await refresh('refreshed-deleted');
    await parts.captures.change(rendered.record, remove);
    await settleInVain(rendered, 'ended');
    expect(await parts.store.stat(rendered.record.fileName)).toBeNull();
  });

  test('for a repeated result after more than a day, when the record is gone', async () => {
    const rendered = await interactive('replayed');
    await settleInVain(rendered, 'unknown', rendered.job.deadline + 86_400_001);
    expect(await parts.captures.get('replayed', rendered.record.uuid)).toBeNull();
  });
});

test('a result that is repeated after days keeps the file if the record still exists', async () => {
  const { record, job, result } = await interactive('kept');
  await parts.settle(result);
  const file = await parts.store.stat(record.fileName);
  const at = job.deadline + 2 * 86_400_000;
  for (const isAwaited of [true, false])
    expect(await parts.settle(result, { at, isAwaited })).toMatchObject({ outcome: 'repeated' });
  expect(await parts.store.stat(record.fileName)).toEqual(file);
  expect(await usageOf('kept')).toMatchObject({ tokens: 2, captures: 1 });
});

test('a second rendering of a capture is not charged, and the existing file stays', async () => {
  const { record, job, result } = await interactive('twice');
  await parts.settle(result);
  const file = await parts.store.stat(record.fileName);
  const second = resultOf(job, completedBy(await renderer.upload(job)));
  expect(await parts.settle(second)).toMatchObject({ outcome: 'ended' });
  expect(await parts.store.stat(record.fileName)).toEqual(file);
  expect(await parts.partsOf(job)).toBe(1);
  expect(await usageOf('twice')).toMatchObject({ tokens: 2, captures: 1 });
});

test("the outcome describes the stored file, with the capture time by the server's clock", async () => {
  const { record, job } = await interactive('facts');
  const upload = await renderer.upload(job);
  const at = nats.session.now();
  const result = { ...resultOf(job, { ...completedBy(upload), ageMs: 250 }), elapsedMs: 1000 };
  const { record: ended } = await parts.settle(result, { at });
  expect(ended).toMatchObject({ status: 'completed', region: 'us-east', account: 'facts' });
  expect(ended?.outcome).toMatchObject({
    mimeType: 'image/png',
    fileSizeBytes: renderer.fileOf(job).length,
    width: 1280,
    height: 720,
    capturedAt: at - 250,
    report: {
      timings: { queueMs: Math.max(0, at - 1000 - record.acceptedAt), resultMs: (ended?.endedAt ?? Number.NaN) - at },
    },
  });
});

test('a result is not charged again if another service has completed the record', async () => {
  const { record, job, result } = await background('other-service');
  const { outcome } = result;
  if (outcome.kind !== 'completed') throw new Error('it has not completed');
  await parts.captures.end(ticketOf(job), complete(0, newOutcome({ object: outcome.upload.object }), record.expiresAt));
  expect(await parts.settle(result)).toMatchObject({ outcome: 'repeated' });
  expect(await usageOf('other-service')).toMatchObject({ tokens: 2, captures: 1 });
});

describe('the extracted parts of a page', () => {
  const record = (changes: Partial<CaptureRecord> = {}) =>
    newRecord({ account: 'extract', options: { ...defaultOptions, extract: ['links', 'text'] }, ...changes });
  const kept = (of: CaptureRecord) => readExtracted(parts.store, { fileName: of.fileName, format: 'png' }, {});
  afterEach(() => {
    renderer.extracted = null;
    renderer.pack = packExtracted;
  });

  test('are stored next to the file, and named in the record', async () => {
    renderer.extracted = { text: 'what it says', links: [] };
    const { result, record: asked } = await render(record());
    const { record: ended } = await parts.settle(result);
    const bytes = (await parts.store.stat(extractedName(asked.fileName)))?.size;
    expect(ended?.outcome?.extracted).toEqual({ parts: ['links', 'text'], bytes });
    expect(await kept(asked)).toEqual(renderer.extracted);
    expect(await parts.settle(result)).toMatchObject({ outcome: 'repeated' });
    expect(await kept(asked)).toEqual(renderer.extracted);
  });

  test('of a second rendering do not replace the first ones', async () => {
    renderer.extracted = { text: 'first' };
    const { result, job, record: asked } = await render(record());
    await parts.settle(result);
    renderer.extracted = { text: 'second' };
    const late = { ...completedBy(await renderer.upload(job)), ...(await renderer.uploadExtracted(job)) };
    expect(await parts.settle(resultOf(job, late))).toMatchObject({ outcome: 'ended' });
    expect(await kept(asked)).toEqual({ text: 'first' });
    expect(await parts.partsOf({ file: { ...job.file, object: extractedName(job.file.object) } })).toBe(1);
  });

  test('are not stored for a capture that did not request them', async () => {
    renderer.extracted = { text: 'unasked' };
    const job = await parts.jobOf(record());
    const extracted = await renderer.uploadExtracted(job);
    const plain = newRecord({ ...record(), uuid: job.uuid, fileName: job.file.object, options: defaultOptions });
    const signed = await parts.jobOf(plain);
    const { record: ended } = await parts.settle(
      resultOf(signed, { ...completedBy(await renderer.upload(job)), ...extracted }),
    );
    expect(ended).toMatchObject({ status: 'completed' });
    expect(ended?.outcome?.extracted).toBeUndefined();
    expect(await parts.store.stat(extractedName(plain.fileName))).toBeNull();
  });

  test.each<[string, () => void]>([
    ['is no archive', () => (renderer.pack = async () => Buffer.from('<html>'.repeat(20)))],
    [
      'is too large',
      () => (renderer.pack = async () => Buffer.concat([await packExtracted({}), randomBytes(maxStoredBytes)])),
    ],
  ])('fail the capture and leave no data if the upload %s', async (_what, lie) => {
    renderer.extracted = { text: 'a text' };
    lie();
    const { result, record: asked } = await render(record());
    expect(await parts.settle(result)).toMatchObject({ outcome: 'rejected', record: { status: 'failed' } });
    expect(await parts.store.stat(asked.fileName)).toBeNull();
    expect(await parts.store.stat(extractedName(asked.fileName))).toBeNull();
  });
});
