import { describe, expect, test } from 'vitest';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { streamNames, taskDurable } from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/state/capture-times.ts';
import { begin, remove, startRefresh, type RefreshOrder } from '@webcapture/shared/state/transitions.ts';
import { parseTask } from '@webcapture/shared/state/tasks.ts';
import { putHtml, takeHtml } from '@webcapture/shared/storage/html-parcel.ts';
import { dispatchJob } from '../../../services/controller/tasks/dispatch-job.ts';
import { expireCapture } from '../../../services/controller/tasks/expire-capture.ts';
import { refreshCapture } from '../../../services/controller/tasks/refresh-capture.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();
const hour = 3_600_000;
const day = 24 * hour;

const orderOf = (revision: number, acceptedAt = Date.now()): RefreshOrder => ({
  revision,
  by: 'request',
  region: 'us-east',
  acceptedAt,
  startBy: acceptedAt + day,
  deadline: acceptedAt + day + 60_000,
});

describe('expiry', () => {
  const place = { name: 'page', ttl: 3600 };
  const expiring = async (changes = {}) => {
    const { completed, cache, deps, ...rest } = tasking(on());
    const record = await completed({ account: 'expiry', cache: place, ...changes });
    await cache.fill('expiry', place, { ...record, expiresAt: Date.now() + hour });
    const task = { kind: 'expiry', account: 'expiry', uuid: record.uuid } as const;
    const left = async () => ({
      status: (await rest.stored(record))?.status,
      file: (await rest.store.stat(record.fileName)) !== null,
      cached: (await cache.get('expiry', place.name)).done?.record.uuid === record.uuid,
      html: await takeHtml(on().session, record.uuid).then(
        () => true,
        () => false,
      ),
    });
    return { ...rest, deps, record, left, run: () => expireCapture(task, deps) };
  };

  test('the file of a capture that failed after all, by a renderer that died, is cleared away', async () => {
    const { deps, store } = tasking(on());
    const record = newRecord({ account: 'expiry', lane: 'background' });
    await deps.captures.create(record);
    const { fileName: name, account, expiresAt } = record;
    const file = {
      name,
      account,
      bytes: Buffer.from('x'),
      contentType: 'image/png',
      width: 1,
      height: 1,
      expiresAt,
    } as const;
    await store.create(file);
    await on().settler.settle(
      { ...record, revision: 0 },
      {
        reason: 'max_deliveries',
        failure: { code: 'CAPTURE_FAILED', message: 'died' },
        unlessBegun: false,
      },
    );
    const message = await until('the task', () =>
      pullOne(on().session.nc, streamNames.tasks, taskDurable('expiry'), 5000),
    );
    const task = parseTask(message.data);
    await message.ack();
    if (task.kind !== 'expiry') throw new Error('another task');
    await expireCapture(task, deps);
    expect(await store.stat(name)).toBeNull();
  });

  test('before its time it is put off until then', async () => {
    const { run, left, record, dueAt } = await expiring();
    await run();
    expect(await left()).toMatchObject({ status: 'completed', file: true, cached: true });
    expect(Math.abs(((await dueAt('expiry', record)) ?? 0) - record.expiresAt)).toBeLessThan(1000);
  });

  test('at its time record, file, cache entry and kept html go; once more does no harm', async () => {
    const { run, left, record, dueAt } = await expiring({ expiresAt: Date.now() - 1 });
    await putHtml(on().session, record.uuid, '<p>kept</p>', Date.now() + hour);
    const whole = { ...record, html: record.uuid };
    const { deps } = tasking(on());
    await deps.captures.change(record, () => whole);
    expect(await left()).toEqual({ status: 'completed', file: true, cached: true, html: true });
    const gone = { status: 'expired', file: false, cached: false, html: false };
    for (let times = 0; times < 2; times++) {
      await run();
      expect(await left()).toEqual(gone);
    }
    expect(await dueAt('expiry', record)).toBeNull();
  });

  test('a controller that died before it had cleared away leaves the rest to the next one', async () => {
    const { deps, left, record, run } = await expiring({ expiresAt: Date.now() - 1 });
    const dying = { ...deps, clearAway: async () => Promise.reject(new Error('died')) };
    const task = { kind: 'expiry', account: 'expiry', uuid: record.uuid } as const;
    await expect(expireCapture(task, dying)).rejects.toThrow('died');
    expect(await left()).toMatchObject({ status: 'expired', file: true });
    await run();
    expect(await left()).toMatchObject({ status: 'expired', file: false, cached: false });
  });

  test('what is left of a deleted capture is cleared away, a capture under way is not touched', async () => {
    const { deps, left, record, run } = await expiring();
    await deps.captures.change(record, remove);
    await run();
    expect(await left()).toMatchObject({ status: 'deleted', file: false, cached: false });

    const waiting = newRecord({ account: 'expiry', lane: 'background', expiresAt: 1 });
    await deps.captures.create(waiting);
    await expireCapture({ kind: 'expiry', account: 'expiry', uuid: waiting.uuid }, deps);
    expect((await deps.captures.get('expiry', waiting.uuid))?.value).toEqual(waiting);
    await expireCapture({ kind: 'expiry', account: 'expiry', uuid: newRecord().uuid }, deps);
  });

  test('a refresh that is being rendered at the end may still leave a file: it is looked for when it must be over', async () => {
    const { deps, record, run, dueAt } = await expiring({ expiresAt: Date.now() + hour });
    const order = orderOf(1);
    await deps.captures.change(record, startRefresh(order));
    await deps.captures.change(record, begin(1));
    await deps.captures.change(record, remove);
    await run();
    const due = (await dueAt('expiry', record)) ?? 0;
    expect(Math.abs(due - overdueAt(order.deadline))).toBeLessThan(1000);
  });
});

describe('refresh', () => {
  const refreshing = async (changes = {}, accountChanges = {}) => {
    const tools = tasking(on());
    const account = `refresh-${Math.random().toString(36).slice(2)}`;
    await tools.deps.accounts.put({ id: account, name: account, createdAt: 1, ...accountChanges });
    const record = await tools.completed({
      account,
      lifetimeMs: 3650 * day,
      persistence: { refreshIntervalMs: hour },
      ...changes,
    });
    const task = { kind: 'refresh', account, uuid: record.uuid } as const;
    const first = record.nextRefreshAt ?? 0;
    const runAt = (time: number, more = {}) => refreshCapture(task, { ...tools.deps, now: () => time, ...more });
    return { ...tools, account, record, task, first, runAt };
  };
  const nearly = (wanted: number, actual: number | null) => expect(Math.abs((actual ?? 0) - wanted)).toBeLessThan(1000);
  const counted = { tokens: 2, captures: 1 };

  test('at its time it is queued, its tokens are set aside, and the next one is seen to', async () => {
    const { runAt, first, queue, record, usage, account, dueAt, stored } = await refreshing(
      {},
      { isolation: 'browser' },
    );
    await runAt(first + 5);
    expect(await queue()).toMatchObject([
      {
        uuid: record.uuid,
        revision: 1,
        lane: 'background',
        region: 'us-east',
        account,
        fileName: record.fileName,
        acceptedAt: first + 5,
        isolation: 'browser',
        startBy: first + 5 + day,
      },
    ]);
    expect(await stored(record)).toMatchObject({
      status: 'completed',
      nextRefreshAt: first + hour,
      refresh: { revision: 1, state: 'queued', by: 'interval' },
    });
    expect(await usage(account)).toEqual({ ...counted, reserved: 2, queued: 1 });
    nearly(first + hour, await dueAt('refresh', record));
  });

  test('before its time it is put off; a time that has been done is not done again', async () => {
    const { runAt, first, queue, record, dueAt } = await refreshing();
    await runAt(first - 5);
    expect(await queue()).toEqual([]);
    nearly(first, await dueAt('refresh', record));
    await runAt(first);
    await runAt(first);
    expect(await queue()).toHaveLength(1);
    nearly(first + hour, await dueAt('refresh', record));
  });

  test('after a long time down there is one refresh, and then the old rhythm', async () => {
    const { runAt, first, queue, record, dueAt, stored } = await refreshing();
    await runAt(first + 30.5 * hour);
    expect(await queue()).toHaveLength(1);
    expect((await stored(record))?.nextRefreshAt).toBe(first + 31 * hour);
    nearly(first + 31 * hour, await dueAt('refresh', record));
  });

  test('one by one they are numbered and charged', async () => {
    const { runAt, first, record, queue, usage, account, deps } = await refreshing();
    for (const revision of [1, 2, 3]) {
      await runAt(first + (revision - 1) * hour);
      await deps.captures.complete({ ...record, revision }, newOutcome(), record.expiresAt);
    }
    expect((await queue()).map(({ revision }) => revision)).toEqual([1, 2, 3]);
    expect(await usage(account)).toEqual({ tokens: 8, captures: 4, reserved: 0, queued: 0 });
  });

  test('without quota it is left out with a note, and comes again when there is some', async () => {
    const { runAt, first, record, queue, usage, account, deps, dueAt, stored } = await refreshing(
      {},
      { tokenQuota: 3 },
    );
    await runAt(first);
    expect(await stored(record)).toMatchObject({
      status: 'completed',
      nextRefreshAt: first + hour,
      refresh: { revision: 1, state: 'failed', failure: { code: 'QUOTA_EXCEEDED' } },
    });
    expect(await queue()).toEqual([]);
    expect(await usage(account)).toEqual({ ...counted, reserved: 0, queued: 0 });
    nearly(first + hour, await dueAt('refresh', record));
    await deps.accounts.change(account, (known) => ({ ...known, tokenQuota: 4 }));
    await runAt(first + hour);
    expect(await queue()).toMatchObject([{ revision: 2 }]);
    expect(await usage(account)).toEqual({ ...counted, reserved: 2, queued: 1 });
  });

  test('while the account is suspended it is left out with a note, and goes on afterwards', async () => {
    const { runAt, first, record, queue, account, deps, dueAt, stored } = await refreshing({}, { suspendedAt: 5 });
    await runAt(first);
    expect((await stored(record))?.refresh).toMatchObject({
      state: 'failed',
      failure: { code: 'FORBIDDEN', message: 'Not refreshed: the account is suspended.' },
    });
    nearly(first + hour, await dueAt('refresh', record));
    await deps.accounts.put({ id: account, name: account, createdAt: 1 });
    await runAt(first + hour);
    expect(await queue()).toHaveLength(1);
  });

  test('it waits for one under way, however long that takes, and for room in the queue', async () => {
    const { runAt, first, record, queue, account, deps, dueAt } = await refreshing();
    await deps.captures.change(record, startRefresh(orderOf(1)));
    for (const minutes of [0, 1, 30]) {
      await runAt(first + minutes * 60_000);
      nearly(first + (minutes + 1) * 60_000, await dueAt('refresh', record));
    }
    expect(await queue()).toEqual([]);
    await deps.captures.fail({ ...record, revision: 1 }, { code: 'CAPTURE_FAILED', message: 'x' });
    await deps.accounts.change(account, (known) => ({ ...known, maxQueued: 0 }));
    await runAt(first);
    nearly(first + 60_000, await dueAt('refresh', record));
    await deps.accounts.change(account, (known) => ({ ...known, maxQueued: 1 }));
    await runAt(first);
    expect(await queue()).toMatchObject([{ revision: 2 }]);
  });

  test('what is deleted, expired, or past its time is refreshed no more', async () => {
    const deleted = await refreshing();
    await deleted.deps.captures.change(deleted.record, remove);
    await deleted.runAt(deleted.first);
    const past = await refreshing({ expiresAt: Date.now() - 5 });
    await past.runAt(past.first);
    const never = await refreshing({ persistence: { refreshIntervalMs: 0 } });
    await never.runAt(never.first);
    for (const { dueAt, record, queue, usage, account } of [deleted, past, never]) {
      expect([await dueAt('refresh', record), await queue()]).toEqual([null, []]);
      expect(await usage(account)).toMatchObject({ reserved: 0, queued: 0 });
    }
  });

  test('a leader that dies before the job is queued leaves a task that queues it, once', async () => {
    const { runAt, first, record, queue, usage, account, deps, dueAt } = await refreshing();
    const now = Date.now();
    const dying = { jobs: { publish: async () => Promise.reject(new Error('died')) } };
    await deps.captures.change(record, (known) => ({ ...known, nextRefreshAt: now }));
    await expect(runAt(now, dying)).rejects.toThrow('died');
    expect(await queue()).toEqual([]);
    nearly(now + 20_000, await dueAt('dispatch', record, 1));
    // The task that was not done comes again, and the one that was left behind.
    await runAt(now);
    for (let times = 0; times < 2; times++) {
      await dispatchJob({ account, uuid: record.uuid, revision: 1 }, deps);
      expect(await queue()).toMatchObject([{ uuid: record.uuid, revision: 1 }]);
    }
    nearly(now + hour, await dueAt('refresh', record));
    expect(await usage(account)).toEqual({ ...counted, reserved: 2, queued: 1 });
    expect(first).toBeGreaterThan(now);
  });

  test('two controllers at the same task queue and charge one refresh', async () => {
    const { runAt, first, record, queue, usage, account, deps } = await refreshing();
    await Promise.all([1, 2, 3].map(() => runAt(first, tasking(on()).deps)));
    expect(await queue()).toHaveLength(1);
    expect(await usage(account)).toEqual({ ...counted, reserved: 2, queued: 1 });
    await deps.captures.complete({ ...record, revision: 1 }, newOutcome(), record.expiresAt);
    expect(await usage(account)).toEqual({ tokens: 4, captures: 2, reserved: 0, queued: 0 });
  });

  test('a controller that was asleep while another one’s refresh came to its end starts no second one', async () => {
    const { runAt, first, record, queue, usage, account, deps } = await refreshing();
    const admit = async (...args: Parameters<typeof deps.admissions.admit>) => {
      await runAt(first);
      await deps.captures.complete({ ...record, revision: 1 }, newOutcome(), record.expiresAt);
      return deps.admissions.admit(...args);
    };
    const release = deps.admissions.release.bind(deps.admissions);
    await runAt(first, { admissions: { admit, release } });
    expect(await queue()).toHaveLength(1);
    expect(await usage(account)).toEqual({ tokens: 4, captures: 2, reserved: 0, queued: 0 });
  });

  test.each([
    ['where it was', 'auto', ['us-east', 'eu-west'], 'us-east'],
    ['elsewhere when nobody is there', 'auto', ['eu-west'], 'eu-west'],
    ['where it was when nobody is anywhere', 'auto', [], 'us-east'],
    ['where it was asked for, always', 'us-east', ['eu-west'], 'us-east'],
  ] as const)('it is rendered %s', async (_name, askedRegion, alive, region) => {
    const { runAt, first, queue } = await refreshing({ askedRegion });
    const serving = (each: string) => ((alive as readonly string[]).includes(each) ? [{}] : []);
    await runAt(first, { fleet: { serving } });
    expect(await queue()).toMatchObject([{ region }]);
  });
});

describe('dispatch', () => {
  const accepted = async (changes = {}) => {
    const tools = tasking(on());
    const record = newRecord({ account: 'dispatch', lane: 'background', ...changes });
    await tools.deps.captures.create(record);
    const task = { account: record.account, uuid: record.uuid, revision: 0 };
    const run = (now = Date.now()) => dispatchJob(task, { ...tools.deps, now: () => now });
    return { ...tools, record, run };
  };

  test('a missing job is queued, one that is there is not doubled, and its end is watched', async () => {
    const { run, queue, record, dueAt } = await accepted();
    await run();
    await run();
    expect(await queue()).toMatchObject([{ uuid: record.uuid, revision: 0, lane: 'background' }]);
    expect(Math.abs(((await dueAt('dispatch', record)) ?? 0) - overdueAt(record.deadline))).toBeLessThan(1000);
  });

  test('nothing is queued of a capture that has begun, has ended, or is not known', async () => {
    const begun = await accepted();
    await begun.deps.captures.begin(begun.record);
    const failed = await accepted();
    await failed.deps.captures.fail(failed.record, { code: 'CAPTURE_FAILED', message: 'x' });
    const deleted = await accepted();
    await deleted.deps.captures.change(deleted.record, remove);
    for (const { run } of [begun, failed, deleted]) await run();
    await dispatchJob({ account: 'dispatch', uuid: newRecord().uuid, revision: 0 }, begun.deps);
    await dispatchJob({ account: 'dispatch', uuid: deleted.record.uuid, revision: 3 }, begun.deps);
    expect(await begun.queue()).toEqual([]);
    expect(await begun.dueAt('dispatch', begun.record)).not.toBeNull();
    expect(await begun.dueAt('dispatch', failed.record)).toBeNull();
  });

  test('a record that is not written yet is waited for, but not for long', async () => {
    const { deps, dueAt } = tasking(on());
    const record = newRecord({ account: 'dispatch', lane: 'background' });
    const task = { account: record.account, uuid: record.uuid, revision: 0 };
    await dispatchJob(task, { ...deps, now: () => record.acceptedAt + 130_000 });
    expect(await dueAt('dispatch', record)).toBeNull();
    await dispatchJob(task, deps);
    const due = (await dueAt('dispatch', record)) ?? 0;
    expect(due - Date.now()).toBeGreaterThan(5000);
    expect(due - Date.now()).toBeLessThan(30_000);
  });

  test('what has to follow an end is seen to, should whoever ended it have died before', async () => {
    const { run, record, deps, dueAt } = await accepted();
    await deps.captures.begin(record);
    await deps.captures.complete(record, newOutcome(), record.expiresAt);
    expect(await dueAt('expiry', record)).toBeNull();
    await run();
    expect(await dueAt('expiry', record)).toBe(record.expiresAt);
  });

  test('a full queue has the task come again', async () => {
    const { run, deps, record } = await accepted();
    const full = { publish: async () => Promise.reject(new Error('the queue is full')) };
    const task = { account: record.account, uuid: record.uuid, revision: 0 };
    await expect(dispatchJob(task, { ...deps, jobs: full })).rejects.toThrow('full');
    await run();
  });

  test.each([
    ['waits', false, 'No renderer took the capture within'],
    ['is being rendered', true, 'The capture did not end within'],
  ])('a capture whose job was lost while it %s fails when its time is over', async (_name, begun, message) => {
    const { run, deps, record, usage, stored } = await accepted({ account: begun ? 'lost-1' : 'lost-2' });
    if (begun) await deps.captures.begin(record);
    await on().session.jsm.streams.purge(streamNames.captures);
    await run(overdueAt(record.deadline) - 1);
    expect((await stored(record))?.status).toBe(begun ? 'rendering' : 'queued');
    expect(await usage(record.account)).toMatchObject({ reserved: 1, queued: 1 });
    await run(overdueAt(record.deadline));
    const after = await stored(record);
    expect(after).toMatchObject({ status: 'failed', failure: { code: 'CAPTURE_TIMEOUT' } });
    expect(after?.failure?.message).toContain(message);
    expect(await usage(record.account)).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
  });

  test.each([false, true])('a refresh whose job was lost fails too, begun: %s; its capture stays', async (begun) => {
    const { completed, deps, usage, stored } = tasking(on());
    const account = `lost-refresh-${begun}`;
    const record = await completed({ account });
    const order = orderOf(1);
    await deps.captures.change(record, startRefresh(order));
    if (begun) await deps.captures.change(record, begin(1));
    const task = { account, uuid: record.uuid, revision: 1 };
    await dispatchJob(task, { ...deps, now: () => overdueAt(order.deadline) });
    expect(await stored(record)).toMatchObject({
      status: 'completed',
      refresh: { state: 'failed', failure: { code: 'CAPTURE_TIMEOUT' } },
    });
    expect(await usage(account)).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
    expect(await on().settled(begun ? 'deadline' : 'not_started')).toBe(1);
  });
});
