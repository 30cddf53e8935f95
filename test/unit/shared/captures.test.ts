import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import { AccountUsage } from '@webcapture/shared/state/account-usage.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const outcome = newOutcome();

const recordOf = (account: string, tokenCost = 1) => newRecord({ account, tokenCost });

const usageOf = (account: string) => new AccountUsage(nats.session).read(account, Date.now(), 'exact');

test('a capture that four renderers finish at once is charged once', async () => {
  const record = recordOf('four', 2);
  const sessions = await Promise.all([1, 2, 3, 4].map(() => nats.connect()));
  await new Captures(nats.session).create(record);
  const ends = await Promise.all(
    sessions.map((session) => new Captures(session).complete(record, outcome, record.expiresAt)),
  );
  expect(ends.map((end) => end?.status)).toEqual(Array(4).fill('completed'));
  expect(await usageOf('four')).toMatchObject({ tokens: 2, captures: 1 });
});

test('a hundred captures of one account at once are all charged', async () => {
  const captures = new Captures(nats.session);
  const records = Array.from({ length: 100 }, () => recordOf('hundred'));
  await Promise.all(records.map((record) => captures.create(record)));
  await Promise.all(records.map((record) => captures.complete(record, outcome, record.expiresAt)));
  expect(await usageOf('hundred')).toMatchObject({ tokens: 100, captures: 100 });
});

test('a failed capture costs nothing and can no longer complete', async () => {
  const captures = new Captures(nats.session);
  const record = recordOf('failed');
  await captures.create(record);
  await captures.fail(record, { code: 'CAPTURE_TIMEOUT', message: 'late' });
  expect(await captures.complete(record, outcome, record.expiresAt)).toMatchObject({ status: 'failed' });
  expect(await usageOf('failed')).toMatchObject({ tokens: 0, captures: 0 });
});

test('a capture that is being rendered can no longer be cancelled', async () => {
  const captures = new Captures(nats.session);
  const record = recordOf('cancel');
  const failure = { code: 'CAPTURE_FAILED', message: 'the client went away' } as const;
  await captures.create(record);
  expect(await captures.begin(record)).toMatchObject({ status: 'rendering' });
  expect(await captures.cancelQueued(record, failure)).toMatchObject({ status: 'rendering' });

  const other = recordOf('cancel');
  await captures.create(other);
  expect(await captures.cancelQueued(other, failure)).toMatchObject({ status: 'failed', failure });
  expect(await captures.begin(other)).toMatchObject({ status: 'failed' });
});

test('the books survive a server that is killed under way', async () => {
  const captures = new Captures(nats.session);
  const records = Array.from({ length: 40 }, () => recordOf('killed'));
  await Promise.all(records.map((record) => captures.create(record)));
  const ending = Promise.all(
    records.map((record) => retryWhileAway(() => captures.complete(record, outcome, record.expiresAt), record)),
  );
  await nats.restart();
  await ending;
  expect(await usageOf('killed')).toMatchObject({ tokens: 40, captures: 40 });
});

test('what is no uuid of ours has no record', async () => {
  const captures = new Captures(nats.session);
  for (const uuid of ['', 'x', '../..', '6f0d9f2e-94d3-4f5e-8f3a-9f6f1d2c3b4a', randomUUIDv7()]) {
    expect(await captures.get('four', uuid)).toBeNull();
  }
});
