import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readBatch, readMany } from '@webcapture/shared/nats/read-many.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  for (let key = 0; key < 5; key++) await nats.session.js.publish(`$KV.db.thing.${key}`, String(key));
});
afterAll(() => nats[Symbol.asyncDispose]());

const after = (seq: number) => ({ seq: seq + 1, next_by_subj: '$KV.db.thing.*', batch: 3 });

test('messages are returned in order, page by page, and the last page is empty', async () => {
  const pages = [];
  for (let sequence = 0; ;) {
    const page = await readBatch(nats.session, 'KV_db', after(sequence));
    pages.push(page.map((message) => message.json()));
    sequence = page.at(-1)?.seq ?? 0;
    if (page.length === 0) break;
  }
  expect(pages).toEqual([[0, 1, 2], [3, 4], []]);
});

test('every read closes its subscription, even if it fails', async () => {
  const subscribe = vi.spyOn(nats.session.nc, 'subscribe');
  await readBatch(nats.session, 'KV_db', after(0));
  await readBatch(nats.session, 'KV_db', after(1_000_000));
  await readMany(nats.session, 'db', ['thing.1', 'thing.*', 'nothing']);
  await expect(readBatch(nats.session, 'NONE', after(0))).rejects.toThrow();
  expect(subscribe).toHaveBeenCalledTimes(4);
  const subscriptions = subscribe.mock.results.map(
    ({ value }) => value as ReturnType<typeof nats.session.nc.subscribe>,
  );
  expect(subscriptions.map((subscription) => subscription.isClosed())).toEqual([true, true, true, true]);
});
