import { expect, test } from 'vitest';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import { latest } from '@webcapture/shared/accounts/deliveries.ts';
import { historyView, maxHistory } from '@webcapture/shared/captures/history.ts';
import { complete, noteDelivery, startRefresh, fail } from '@webcapture/shared/captures/transitions.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { DeliveryLog } from '../../../services/controller/jobs/webhooks/delivery-log.ts';
import { fake } from '../../harness/fake.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

const shown = { cdnUrl: 'https://cdn.test', now: 5 };

const delivery = (second: number, changes: Partial<Delivery> = {}): Delivery => ({
  uuid: null,
  url: 'https://hooks.example/',
  event: 'webhook.test',
  revision: 0,
  attempt: 1,
  at: new Date(1000 * second).toISOString(),
  state: 'failed',
  status: null,
  error: null,
  durationMs: 1,
  ...changes,
});

test('an account keeps its last 100 attempts, in any order of their writes', () => {
  const all = Array.from({ length: 250 }, (_, index) => delivery((index * 7) % 250));
  expect(latest(all).map(({ at }) => Date.parse(at) / 1000)).toEqual(
    Array.from({ length: 100 }, (_, index) => 249 - index),
  );
});

test('attempts are written in batches, a failed write is retried, and long texts are truncated', async () => {
  const written: [string, readonly Delivery[]][] = [];
  let isDown = true;
  const log = new DeliveryLog(
    fake({
      add: async (account, deliveries) => {
        if (isDown && account === 'b') throw new Error('unavailable');
        written.push([account, deliveries]);
      },
    }),
  );
  log.note('a', delivery(1));
  log.note('a', delivery(2));
  log.note('b', delivery(3, { url: `https://hooks.example/${'x'.repeat(2000)}`, error: 'e'.repeat(1000) }));
  await expect(log.flush()).rejects.toThrow('unavailable');
  expect(written).toEqual([['a', [delivery(2), delivery(1)]]]);
  isDown = false;
  log.note('b', delivery(4));
  await log.flush();
  expect(written.slice(1).map(([account, { length }]) => [account, length])).toEqual([['b', 2]]);
  const [, long] = written[1]?.[1] ?? [];
  expect([long?.url.length, long?.error?.length]).toEqual([200, 200]);
  await log.flush();
  expect(written).toHaveLength(2);
});

test('the first attempt of an account is written at once, and the next ones every 5 s', async () => {
  const written: [string, number][] = [];
  const add = async (account: string, { length }: readonly Delivery[]) => void written.push([account, length]);
  let now = 100;
  const log = new DeliveryLog(fake({ add }), () => now);
  const noteAndFlush = async (account: string) => {
    log.note(account, delivery(1));
    await log.flush();
  };
  await noteAndFlush('a');
  for (let second = 1; second < 5; second++) {
    now += 1000;
    await noteAndFlush('a');
  }
  await noteAndFlush('b');
  expect(written.splice(0)).toEqual([
    ['a', 1],
    ['b', 1],
  ]);
  now += 1000;
  await log.flush();
  expect(written.splice(0)).toEqual([['a', 4]]);
  log.note('a', delivery(9));
  await log.flush();
  expect(written).toEqual([]);
  await log.flushAll();
  expect(written).toEqual([['a', 1]]);
});

test('the histories in a record are bounded, and sorted by time, the newest first', () => {
  const url = 'https://hooks.example/';
  const webhook = { url, state: 'pending', event: 'capture.completed', revision: 0, attempts: 0 } as const;
  let record: CaptureRecord = newRecord({
    priority: 'background',
    status: 'completed',
    outcome: newOutcome(),
    webhook,
    expiresAt: Number.MAX_SAFE_INTEGER,
  });
  const bare = JSON.stringify(record).length;
  const message = 'x'.repeat(5000);
  for (let number = 1; number <= maxHistory + 5; number++) {
    const order = {
      revision: number,
      by: 'interval',
      region: 'us-east',
      acceptedAt: number,
      startBy: 9,
      deadline: 9,
    } as const;
    record = startRefresh(order)(record, number) ?? record;
    record = fail(number, { code: 'CAPTURE_FAILED', message, cause: 'service' })(record, number + 1) ?? record;
    const entry = { event: 'capture.completed', revision: 0, attempt: number, at: number, state: 'retrying' } as const;
    record = noteDelivery(0, webhook, entry)(record, number) ?? record;
  }
  const { refreshes, deliveries } = historyView(record, shown);
  expect([refreshes.length, deliveries.length]).toEqual([maxHistory, maxHistory]);
  expect([refreshes[0]?.number, deliveries[0]?.attempt]).toEqual([maxHistory + 5, maxHistory + 5]);
  expect(deliveries[0]).toMatchObject({ uuid: record.uuid, url, status: null, error: null, durationMs: null });
  // Only the latest refresh has its complete message.
  expect(JSON.stringify({ ...record, refresh: undefined }).length - bare).toBeLessThan(11_000);
});

test('a refresh that is under way comes first in the history, and is there once when it has ended', () => {
  const outcome = newOutcome({ fileSizeBytes: 7 });
  const completed = newRecord({ status: 'completed', outcome, expiresAt: 9 });
  expect(historyView(completed, shown)).toEqual({ refreshes: [], files: [], deliveries: [] });
  const order = { revision: 1, by: 'interval', region: 'us-east', acceptedAt: 1, startBy: 9, deadline: 9 } as const;
  const queued = startRefresh(order)(completed, 1) ?? completed;
  expect(historyView(queued, shown).refreshes).toEqual([
    expect.objectContaining({ number: 1, state: 'queued', endedAt: null, error: null, fileSizeBytes: null }),
  ]);
  const ended = complete(1, outcome, 9)(queued, 2) ?? queued;
  expect(historyView(ended, shown).refreshes).toEqual([
    expect.objectContaining({ number: 1, state: 'completed', error: null, fileSizeBytes: 7 }),
  ]);
});
