import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { CaptureRecord, StoredBytes } from '@webcapture/shared/captures/capture-record.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import {
  begin,
  complete,
  expire,
  fail,
  refreshOrderOf,
  remove,
  startRefresh,
} from '@webcapture/shared/captures/transitions.ts';
import { noUsage, sum, usageOf } from '@webcapture/shared/captures/usage.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const now = Date.now();
const soon = now + 3_600_000;
const lost = { code: 'CAPTURE_TIMEOUT', message: 'lost', cause: 'service' } as const;

const htmlCapture = (account: string, changes: Partial<CaptureRecord> = {}) => {
  const uuid = randomUUIDv7();
  return newRecord({ uuid, account, priority: 'background', acceptedAt: now, html: uuid, htmlBytes: 40, ...changes });
};
const persistence = { persistence: { refreshIntervalMs: 0 } };
const refreshOrder = (record: CaptureRecord) =>
  startRefresh(refreshOrderOf(record, { by: 'request', region: 'us-east', acceptedAt: Date.now() }));
const completed = (fileSizeBytes: number, revision = 0, expiresAt = soon) =>
  complete(revision, newOutcome({ fileSizeBytes }), expiresAt);

const ledger = (account: string) =>
  retryTransient(() => new AccountUsage(nats.session).read(account, Date.now(), 'exact'), {
    deadline: Date.now() + 10_000,
  });

async function bytesOf(account: string): Promise<Partial<StoredBytes>> {
  const { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes } = await ledger(account);
  const bytes = { queuedBytes, storedBytes, persistedBytes, keptHtmlBytes };
  return Object.fromEntries(Object.entries(bytes).filter(([, count]) => count !== 0));
}

test('the bytes of a capture count once from the queue to its deletion, even if four services end it', async () => {
  const sessions = await Promise.all([1, 2, 3, 4].map(() => nats.connect()));
  const services = sessions.map((session) => new Captures(session));
  const [captures = new Captures(nats.session)] = services;
  const all = (change: (service: Captures) => Promise<unknown>) => Promise.all(services.map(change));
  const record = htmlCapture('four', persistence);
  await all((service) => service.create(record));
  expect(await bytesOf('four')).toEqual({ queuedBytes: 40 });
  await all((service) => service.end(record, completed(700)));
  expect(await bytesOf('four')).toEqual({ persistedBytes: 700, keptHtmlBytes: 40 });
  const found = (await captures.get('four', record.uuid))?.value ?? record;
  await captures.change(record, refreshOrder(found));
  await all((service) => service.end({ ...record, revision: 1 }, completed(500, 1)));
  expect(await bytesOf('four')).toEqual({ persistedBytes: 500, keptHtmlBytes: 40 });
  await all((service) => service.change(record, remove));
  expect(await bytesOf('four')).toEqual({});
});

test('the bytes of an interactive capture count from its end until it expires', async () => {
  const captures = new Captures(nats.session);
  const draft = newRecord({ account: 'ends', acceptedAt: now });
  const past = Date.now() - 1;
  await captures.end({ ...draft, draft }, completed(700, 0, past));
  await captures.end({ ...draft, draft }, completed(700, 0, past));
  expect(await bytesOf('ends')).toEqual({ storedBytes: 700 });
  await Promise.all([captures.change(draft, expire), captures.change(draft, expire)]);
  expect(await bytesOf('ends')).toEqual({});
});

test('files and queued HTML of captures that were accepted in the two previous months still count', async () => {
  const captures = new Captures(nats.session);
  const inMarch = Date.UTC(2027, 2, 1, 12);
  const accepted = [Date.UTC(2027, 0, 31), Date.UTC(2027, 1, 10), Date.UTC(2027, 2, 1)];
  for (const acceptedAt of accepted) {
    const record = newRecord({ account: 'months', acceptedAt });
    await captures.end({ ...record, draft: record }, completed(100));
  }
  await captures.create(htmlCapture('months', { acceptedAt: Date.UTC(2027, 1, 28, 23) }));
  const usage = new AccountUsage(nats.session);
  for (const precision of ['rough', 'exact'] as const) {
    expect(await usage.read('months', inMarch, precision)).toMatchObject({
      captures: 1,
      storedBytes: 300,
      queuedBytes: 40,
    });
  }
});

test('the bytes equal the sum over the records after the server was killed', { tags: 'long' }, async () => {
  const captures = new Captures(nats.session);
  const records = Array.from({ length: 24 }, (_, index) => htmlCapture('sum', index % 2 === 0 ? {} : persistence));
  const live = async (record: CaptureRecord, index: number) => {
    const again = <T>(call: () => Promise<T>) => retryTransient(call, record);
    await again(() => captures.create(record));
    if (index % 6 === 0) return;
    await again(() => captures.change(record, begin(0)));
    if (index % 6 === 1) return void (await again(() => captures.change(record, fail(0, lost))));
    const { record: found } = await again(() => captures.end(record, completed(100 + index)));
    if (index % 6 === 2) return;
    if (index % 6 === 3) return void (await again(() => captures.change(record, remove)));
    await again(() => captures.change(record, refreshOrder(found ?? record)));
    await again(() => captures.end({ ...record, revision: 1 }, completed(200 + index, 1, now - 1)));
    if (index % 6 === 5) await again(() => captures.change(record, expire));
  };
  const living = Promise.all(records.map(live));
  await nats.restart();
  await living;
  const stored = await Promise.all(records.map(async ({ uuid }) => (await captures.get('sum', uuid))?.value));
  const wanted = stored.flatMap((record) => (record === undefined ? [] : [...usageOf(record).values()]));
  expect(await ledger('sum')).toEqual(wanted.reduce(sum, noUsage));
  // Captures in groups of six. In each group, one capture is queued, and two have a file, of which one was refreshed. Every second capture
  // is persisted.
  const files = [8, 20, 2, 14].map((index) => 100 + index);
  const refreshed = [4, 10, 16, 22].map((index) => 200 + index);
  const storedBytes = [...files, ...refreshed].reduce((total, size) => total + size, 0);
  expect(await bytesOf('sum')).toEqual({ queuedBytes: 4 * 40, storedBytes });
});
