import { randomUUIDv7 } from 'node:crypto';
import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { captureKey, Captures, type CaptureRef, type OnChange } from '@webcapture/shared/captures/captures.ts';
import {
  begin,
  cancelQueued,
  complete,
  expire,
  refreshOrderOf,
  remove,
  startRefresh,
  type RefreshOrder,
} from '@webcapture/shared/captures/transitions.ts';
import { noUsage, sum, usageOf as booksOf } from '@webcapture/shared/captures/usage.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { chargesOf } from '../../harness/limits.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const outcome = newOutcome();

/** The time at which all captures are accepted. All of them therefore count for the same month. */
const acceptedAt = Date.now();

const recordOf = (account: string, tokenCost = 1) => newRecord({ account, tokenCost, acceptedAt });

/** Completes a capture, or its refresh, as the result of a renderer does; returns the record afterwards. */
async function end(captures: Captures, ref: CaptureRef, expiresAt: number): Promise<CaptureRecord | null> {
  return (await captures.end(ref, complete(ref.revision ?? 0, outcome, expiresAt))).record;
}

/** Retries, because a server that has just restarted may not answer the first request. */
const usageOf = (account: string) =>
  retryTransient(() => new AccountUsage(nats.session).read(account, acceptedAt, 'exact'), {
    deadline: Date.now() + 10_000,
  });

test('a capture that four services complete at once is charged once', async () => {
  const record = recordOf('four', 2);
  const sessions = await Promise.all([1, 2, 3, 4].map(() => nats.connect()));
  await new Captures(nats.session).create(record);
  const ends = await Promise.all(sessions.map((session) => end(new Captures(session), record, record.expiresAt)));
  expect(ends.map((record) => record?.status)).toEqual(Array(4).fill('completed'));
  expect(await usageOf('four')).toMatchObject({ tokens: 2, captures: 1 });
});

test('an end that the server stored, but whose response was lost, counts as a change', async () => {
  const record = recordOf('lost');
  const session = await nats.connect();
  const captures = new Captures(session);
  await captures.create(record);
  const request = session.nc.request.bind(session.nc);
  const spy = vi.spyOn(session.nc, 'request').mockImplementation(async (subject, data, options) => {
    const answer = await request(subject, data, options);
    if (!subject.startsWith('$KV.db.')) return answer;
    spy.mockRestore();
    throw new TimeoutError();
  });
  const change = complete(0, outcome, record.expiresAt);
  expect(await captures.end(record, change)).toMatchObject({ changed: true, record: { status: 'completed' } });
  expect(await captures.end(record, change)).toMatchObject({ changed: false, record: { status: 'completed' } });
  expect(await usageOf('lost')).toMatchObject({ tokens: 1, captures: 1 });
});

test('an equal end by another service is not mistaken for an own write without a response', async () => {
  const draft = recordOf('equal');
  const change = complete(0, outcome, draft.expiresAt);
  const now = () => acceptedAt;
  const [own, other] = await Promise.all([nats.connect(), nats.connect()]);
  const request = own.nc.request.bind(own.nc);
  const spy = vi.spyOn(own.nc, 'request').mockImplementation(async (subject, data, options) => {
    if (!subject.startsWith('$KV.db.')) return request(subject, data, options);
    spy.mockRestore();
    const ended = await new Captures({ ...other, now }).end({ ...draft, draft }, change);
    expect(ended.changed).toBe(true);
    throw new TimeoutError();
  });
  const heard = vi.fn<OnChange>();
  const ended = await new Captures({ ...own, now }, heard).end({ ...draft, draft }, change);
  expect(ended).toMatchObject({ changed: false, record: { status: 'completed' } });
  expect(heard).not.toHaveBeenCalled();
  expect(await usageOf('equal')).toMatchObject({ tokens: 1, captures: 1 });
});

test('captures of one account that end at once share their ledger writes', async () => {
  const captures = new Captures(nats.session);
  const drafts = Array.from({ length: 300 }, () => recordOf('crowd'));
  let writes = 0;
  const watching = nats.session.nc.subscribe('$KV.db.usage.crowd.>', { callback: () => void writes++ });
  await nats.session.nc.flush();
  await Promise.all(drafts.map((draft) => end(captures, { ...draft, draft } as CaptureRef, draft.expiresAt)));
  await nats.session.nc.flush();
  watching.unsubscribe();
  expect(await usageOf('crowd')).toMatchObject({ tokens: 300, captures: 300 });
  // Each of the 16 shards has at most one concurrent write. Without the order of writes, there would be thousands.
  expect(writes).toBeLessThanOrEqual(32);
});

test('a hundred captures of one account that complete at once are all charged', async () => {
  const captures = new Captures(nats.session);
  const records = Array.from({ length: 100 }, () => recordOf('hundred'));
  await Promise.all(records.map((record) => captures.create(record)));
  await Promise.all(records.map((record) => end(captures, record, record.expiresAt)));
  expect(await usageOf('hundred')).toMatchObject({ tokens: 100, captures: 100 });
});

test('a failed capture costs nothing and can no longer complete', async () => {
  const captures = new Captures(nats.session);
  const record = recordOf('failed');
  await captures.create(record);
  await captures.fail(record, { code: 'CAPTURE_TIMEOUT', message: 'late', cause: 'service' });
  expect(await end(captures, record, record.expiresAt)).toMatchObject({ status: 'failed' });
  expect(await usageOf('failed')).toMatchObject({ tokens: 0, captures: 0 });
});

test('a capture that is being rendered can no longer be cancelled', async () => {
  const captures = new Captures(nats.session);
  const record = recordOf('cancel');
  const failure = { code: 'CAPTURE_FAILED', message: 'the client went away', cause: 'service' } as const;
  await captures.create(record);
  expect(await captures.change(record, begin(0))).toMatchObject({ status: 'rendering' });
  expect(await captures.change(record, cancelQueued(0, failure))).toMatchObject({ status: 'rendering' });

  const other = recordOf('cancel');
  await captures.create(other);
  expect(await captures.change(other, cancelQueued(0, failure))).toMatchObject({ status: 'failed', failure });
  expect(await captures.change(other, begin(0))).toMatchObject({ status: 'failed' });
});

test('usage is correct after the server is killed while captures complete', { tags: 'long' }, async () => {
  const captures = new Captures(nats.session);
  const records = Array.from({ length: 40 }, () => recordOf('killed'));
  await Promise.all(records.map((record) => captures.create(record)));
  const ending = Promise.all(
    records.map((record) => retryTransient(() => end(captures, record, record.expiresAt), record)),
  );
  await nats.restart();
  await ending;
  expect(await usageOf('killed')).toMatchObject({ tokens: 40, captures: 40 });
});

test('an invalid or unknown uuid has no record', async () => {
  const captures = new Captures(nats.session);
  for (const uuid of ['', 'x', '../..', '6f0d9f2e-94d3-4f5e-8f3a-9f6f1d2c3b4a', randomUUIDv7()]) {
    expect(await captures.get('four', uuid)).toBeNull();
  }
});

const orderOf = (revision: number): RefreshOrder => ({
  revision,
  by: 'request',
  region: 'us-east',
  acceptedAt,
  startBy: Date.now() + 60_000,
  deadline: Date.now() + 120_000,
});
const lost = { code: 'CAPTURE_FAILED', message: 'lost', cause: 'service' } as const;

describe('reservations in the ledger', () => {
  const background = (account: string, tokenCost = 2) =>
    newRecord({ account, tokenCost, acceptedAt, priority: 'background' });

  test('are made once when a background capture is created, and released when it ends', async () => {
    const captures = new Captures(nats.session);
    const [done, failed, deleted] = [background('aside'), background('aside'), background('aside')];
    for (const record of [done, failed, deleted]) await Promise.all([captures.create(record), captures.create(record)]);
    const aside = { tokens: 0, captures: 0, reserved: 6, queued: 3 };
    expect(chargesOf(await usageOf('aside'))).toEqual(aside);
    await Promise.all([done, failed, deleted].map((record) => captures.create(record)));
    await captures.change(done, begin(0));
    expect(chargesOf(await usageOf('aside'))).toEqual(aside);

    await end(captures, done, done.expiresAt);
    expect(chargesOf(await usageOf('aside'))).toEqual({ tokens: 2, captures: 1, reserved: 4, queued: 2 });
    await captures.fail(failed, lost);
    await captures.change(deleted, remove);
    expect(chargesOf(await usageOf('aside'))).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
  });

  test('are released if a refresh races a deletion, and the refresh does not stay open', async () => {
    const services = (await Promise.all([nats.connect(), nats.connect()])).map((session) => new Captures(session));
    const [refresher, remover] = services as [Captures, Captures];
    const ways = new Set<string | undefined>();
    for (let round = 0; round < 20; round++) {
      const record = background('raced');
      await refresher.create(record);
      await end(refresher, record, record.expiresAt);
      const order = { by: 'request', region: 'us-east', acceptedAt } as const;
      const refreshed = () => refresher.change(record, startRefresh(refreshOrderOf(record, order)));
      const removed = () => remover.change(record, remove);
      await Promise.all(round % 2 === 0 ? [refreshed(), removed()] : [removed(), refreshed()]);
      const after = (await refresher.get('raced', record.uuid))?.value;
      expect(after?.status).toBe('deleted');
      ways.add(after?.refresh?.state);
    }
    // In this order, the refresh certainly comes first.
    const record = background('raced');
    await refresher.create(record);
    await end(refresher, record, record.expiresAt);
    const order = { by: 'request', region: 'us-east', acceptedAt } as const;
    await refresher.change(record, startRefresh(refreshOrderOf(record, order)));
    ways.add((await remover.change(record, remove))?.refresh?.state);
    ways.delete(undefined);
    expect([...ways]).toEqual(['failed']);
    expect(chargesOf(await usageOf('raced'))).toEqual({ tokens: 42, captures: 21, reserved: 0, queued: 0 });
  });

  test('are written together with the record, or not at all', async () => {
    const record = background('batch');
    // Another record already has that uuid, so the whole batch is refused.
    await new Entries(nats.session, 'db').put(captureKey('batch', record.uuid), { ...record, priority: 'interactive' });
    await new Captures(nats.session).create(record);
    expect(chargesOf(await usageOf('batch'))).toEqual(chargesOf(noUsage));
  });

  test('are not made for an interactive capture', async () => {
    await new Captures(nats.session).create(recordOf('waits'));
    expect(chargesOf(await usageOf('waits'))).toEqual(chargesOf(noUsage));
  });

  test('of a refresh that four services end at once become one charge', async () => {
    const captures = new Captures(nats.session);
    const record = background('refreshed');
    await captures.create(record);
    await end(captures, record, record.expiresAt);
    const sessions = await Promise.all([1, 2, 3, 4].map(() => nats.connect()));
    await Promise.all(sessions.map((session) => new Captures(session).change(record, startRefresh(orderOf(1)))));
    expect(chargesOf(await usageOf('refreshed'))).toEqual({ tokens: 2, captures: 1, reserved: 2, queued: 1 });
    const job = { account: 'refreshed', uuid: record.uuid, revision: 1 };
    await Promise.all(sessions.map(async (session) => end(new Captures(session), job, record.expiresAt)));
    expect(chargesOf(await usageOf('refreshed'))).toEqual({ tokens: 4, captures: 2, reserved: 0, queued: 0 });
    expect(await end(captures, job, record.expiresAt)).toMatchObject({ refresh: { state: 'completed' } });
    expect(await usageOf('refreshed')).toMatchObject({ tokens: 4, captures: 2 });
  });

  test('are not made for a refresh that was requested before another refresh ended', async () => {
    const captures = new Captures(nats.session);
    const record = background('late');
    await captures.create(record);
    await end(captures, record, record.expiresAt);
    await captures.change(record, startRefresh(orderOf(1)));
    await end(captures, { ...record, revision: 1 }, record.expiresAt);
    const late = await captures.change(record, startRefresh(orderOf(1)));
    expect(late?.refresh).toMatchObject({ revision: 1, state: 'completed' });
    expect(await usageOf('late')).toMatchObject({ tokens: 4, reserved: 0, queued: 0 });
  });

  test('and charges equal the sum over the records after the server was killed', { tags: 'long' }, async () => {
    const captures = new Captures(nats.session);
    const records = Array.from({ length: 24 }, () => background('sum'));
    const live = async (record: CaptureRecord, index: number) => {
      const again = <T>(call: () => Promise<T>) => retryTransient(call, record);
      await again(() => captures.create(record));
      if (index % 6 === 0) return;
      await again(() => captures.change(record, begin(0)));
      if (index % 6 === 1) return void (await again(() => captures.fail(record, lost)));
      await again(() => end(captures, record, record.expiresAt));
      if (index % 6 === 2) return;
      await again(() => captures.change(record, startRefresh(orderOf(1))));
      const job = { ...record, revision: 1 };
      if (index % 6 === 4) return void (await again(() => captures.fail(job, lost)));
      if (index % 6 === 5) await again(() => end(captures, job, record.expiresAt));
    };
    const living = Promise.all(records.map(live));
    await nats.restart();
    await living;
    const stored = await Promise.all(records.map(async ({ uuid }) => (await captures.get('sum', uuid))?.value));
    const wanted = stored
      .flatMap((record) => [...(record === undefined ? new Map() : booksOf(record)).values()])
      .reduce(sum, noUsage);
    expect(await usageOf('sum')).toEqual(wanted);
    // 16 captures completed and 4 were refreshed. 4 other captures and 4 refreshes have not ended.
    expect(chargesOf(wanted)).toEqual({ tokens: 40, captures: 20, reserved: 16, queued: 8 });
  });
});

test('a record without a file is kept for 90 days, and one with a file has no TTL', async () => {
  const captures = new Captures(nats.session);
  const ttlOf = async ({ account, uuid }: CaptureRecord) => {
    const subject = `$KV.db.${captureKey(account, uuid)}`;
    const message = await nats.session.jsm.streams.getMessage('KV_db', { last_by_subj: subject });
    return message?.header.get('Nats-TTL');
  };
  const [kept, failed, expired, deleted] = [1, 2, 3, 4].map(() =>
    newRecord({ account: 'ttl', acceptedAt, priority: 'background' }),
  );
  for (const record of [kept, failed, expired, deleted]) {
    if (record === undefined) throw new Error('a record is missing');
    await captures.create(record);
    expect(await ttlOf(record)).toBe('');
    await captures.change(record, begin(0));
    expect(await ttlOf(record)).toBe('');
    if (record === failed) await captures.fail(record, lost);
    // The file of the expired record expires at once.
    else await end(captures, record, record === expired ? Date.now() - 1 : record.expiresAt);
    if (record === kept) {
      await captures.change(record, startRefresh(orderOf(1)));
      await captures.fail({ ...record, revision: 1 }, lost);
    }
    if (record === expired) await captures.change(record, expire);
    if (record === deleted) await captures.change(record, remove);
    expect(await ttlOf(record), record.uuid).toBe(record === kept ? '' : `${90 * 86_400}s`);
  }
  expect(await usageOf('ttl')).toMatchObject({ tokens: 3, captures: 3, reserved: 0, queued: 0 });
});
