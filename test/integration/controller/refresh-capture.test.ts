import { describe, expect, test } from 'vitest';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { remove, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { recoverLostJob } from '../../../services/controller/recovery/lost-jobs.ts';
import { refreshCapture } from '../../../services/controller/jobs/refresh.ts';
import { defaultOptions, newOutcome } from '../../harness/records.ts';
import { day, hour, orderOf } from './support/refresh-order.ts';
import { completeCapture, useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();

describe('a refresh', () => {
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

  test('is queued at its time, its tokens are reserved, and the next one is scheduled', async () => {
    const { runAt, first, queue, record, usage, account, dueAt, stored } = await refreshing(
      {},
      { isolation: 'browser' },
    );
    await runAt(first + 5);
    expect(await queue()).toMatchObject([
      {
        uuid: record.uuid,
        revision: 1,
        priority: 'background',
        region: 'us-east',
        account,
        file: { object: expect.stringContaining(record.uuid) as string, expiresAt: record.expiresAt },
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

  test('is rescheduled before its time, and runs only once for each time', async () => {
    const { runAt, first, queue, record, dueAt } = await refreshing();
    await runAt(first - 5);
    expect(await queue()).toEqual([]);
    nearly(first, await dueAt('refresh', record));
    await runAt(first);
    await runAt(first);
    expect(await queue()).toHaveLength(1);
    nearly(first + hour, await dueAt('refresh', record));
  });

  test('runs once after a long downtime, and then in the old rhythm', async () => {
    const { runAt, first, queue, record, dueAt, stored } = await refreshing();
    await runAt(first + 30.5 * hour);
    expect(await queue()).toHaveLength(1);
    expect((await stored(record))?.nextRefreshAt).toBe(first + 31 * hour);
    nearly(first + 31 * hour, await dueAt('refresh', record));
  });

  test('with a schedule runs at each of its times, and once after a long downtime', async () => {
    const schedule = { cron: '0 6 * * *', timeZone: 'UTC' };
    const { runAt, first, queue, record, dueAt, stored } = await refreshing({
      persistence: { refreshIntervalMs: 0, schedule },
    });
    expect(new Date(first).toISOString()).toMatch(/T06:00:00.000Z$/);
    await runAt(first - 5);
    expect(await queue()).toEqual([]);
    nearly(first, await dueAt('refresh', record));
    await runAt(first + 3 * day + hour);
    expect(await queue()).toHaveLength(1);
    expect((await stored(record))?.nextRefreshAt).toBe(first + 4 * day);
    nearly(first + 4 * day, await dueAt('refresh', record));
  });

  test('is numbered and charged each time', async () => {
    const { runAt, first, record, queue, usage, account, deps } = await refreshing();
    for (const revision of [1, 2, 3]) {
      await runAt(first + (revision - 1) * hour);
      await completeCapture(deps.captures, { ...record, revision }, newOutcome(), record.expiresAt);
    }
    expect((await queue()).map(({ revision }) => revision)).toEqual([1, 2, 3]);
    expect(await usage(account)).toEqual({ tokens: 8, captures: 4, reserved: 0, queued: 0 });
  });

  test('without quota fails with a reason, and runs once there is quota', async () => {
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

  test('fails with a reason while the account is suspended, and runs afterwards', async () => {
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

  test('that ignores TLS errors fails without the permission, with a reason, and runs with it', async () => {
    const { runAt, first, record, queue, account, deps, dueAt, stored } = await refreshing(
      { options: { ...defaultOptions, ignoreTlsErrors: true } },
      { allowIgnoreTlsErrors: true },
    );
    const failure = async () => {
      const { refresh } = (await stored(record)) ?? {};
      expect(refresh).toMatchObject({ state: 'failed', failure: { code: 'FORBIDDEN', cause: 'client' } });
      return refresh?.failure?.message;
    };
    await runAt(first, { allowIgnoreTlsErrors: false });
    expect(await failure()).toMatch(/^Not refreshed: ignoreTlsErrors is not allowed for this service\. /);
    nearly(first + hour, await dueAt('refresh', record));
    await deps.accounts.change(account, (known) => ({ ...known, allowIgnoreTlsErrors: false }));
    await runAt(first + hour);
    expect(await failure()).toMatch(/^Not refreshed: ignoreTlsErrors is not allowed for this account\. /);
    expect(await queue()).toEqual([]);
    await deps.accounts.change(account, (known) => ({ ...known, allowIgnoreTlsErrors: true }));
    await runAt(first + 2 * hour);
    expect(await queue()).toMatchObject([{ revision: 3, options: { ignoreTlsErrors: true } }]);
  });

  test('waits for a running refresh, however long it takes, and for room in the queue', async () => {
    const { runAt, first, record, queue, account, deps, dueAt } = await refreshing();
    await deps.captures.change(record, startRefresh(orderOf(1)));
    for (const minutes of [0, 1, 30]) {
      await runAt(first + minutes * 60_000);
      nearly(first + (minutes + 1) * 60_000, await dueAt('refresh', record));
    }
    expect(await queue()).toEqual([]);
    await deps.captures.fail({ ...record, revision: 1 }, { code: 'CAPTURE_FAILED', message: 'x', cause: 'service' });
    await deps.accounts.change(account, (known) => ({ ...known, maxQueued: 0 }));
    await runAt(first);
    nearly(first + 60_000, await dueAt('refresh', record));
    await deps.accounts.change(account, (known) => ({ ...known, maxQueued: 1 }));
    await runAt(first);
    expect(await queue()).toMatchObject([{ revision: 2 }]);
  });

  test('does not run for captures that are deleted, expired, or not refreshed', async () => {
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

  test('whose leader dies before the job is queued leaves a task that queues it once', async () => {
    const { runAt, first, record, queue, usage, account, deps, dueAt } = await refreshing();
    const now = Date.now();
    const dying = { jobs: { publish: async () => Promise.reject(new Error('died')) } };
    await deps.captures.change(record, (known) => ({ ...known, nextRefreshAt: now }));
    await expect(runAt(now, dying)).rejects.toThrow('died');
    expect(await queue()).toEqual([]);
    nearly(now + 20_000, await dueAt('dispatch', record, 1));
    // The unfinished task is repeated, and so is the task that was scheduled before it.
    await runAt(now);
    for (let times = 0; times < 2; times++) {
      await recoverLostJob({ account, uuid: record.uuid, revision: 1 }, deps);
      expect(await queue()).toMatchObject([{ uuid: record.uuid, revision: 1 }]);
    }
    nearly(now + hour, await dueAt('refresh', record));
    expect(await usage(account)).toEqual({ ...counted, reserved: 2, queued: 1 });
    expect(first).toBeGreaterThan(now);
  });

  test('by two controllers for the same task is queued and charged once', async () => {
    const { runAt, first, record, queue, usage, account, deps } = await refreshing();
    await Promise.all([1, 2, 3].map(() => runAt(first, tasking(on()).deps)));
    expect(await queue()).toHaveLength(1);
    expect(await usage(account)).toEqual({ ...counted, reserved: 2, queued: 1 });
    await completeCapture(deps.captures, { ...record, revision: 1 }, newOutcome(), record.expiresAt);
    expect(await usage(account)).toEqual({ tokens: 4, captures: 2, reserved: 0, queued: 0 });
  });

  test('by a controller that slept while the refresh of another one completed does not start again', async () => {
    const { runAt, first, record, queue, usage, account, deps } = await refreshing();
    const admit = async (...args: Parameters<typeof deps.limiter.admit>) => {
      await runAt(first);
      await completeCapture(deps.captures, { ...record, revision: 1 }, newOutcome(), record.expiresAt);
      return deps.limiter.admit(...args);
    };
    const release = deps.limiter.release.bind(deps.limiter);
    await runAt(first, { limiter: { admit, release } });
    expect(await queue()).toHaveLength(1);
    expect(await usage(account)).toEqual({ tokens: 4, captures: 2, reserved: 0, queued: 0 });
  });

  test.each([
    ['where it was', 'auto', ['us-east', 'eu-west'], 'us-east'],
    ['elsewhere without a renderer there', 'auto', ['eu-west'], 'eu-west'],
    ['in its region without any renderer', 'auto', [], 'us-east'],
    ['where it was asked for, always', 'us-east', ['eu-west'], 'us-east'],
  ] as const)('is rendered %s', async (_name, requestedRegion, alive, region) => {
    const { runAt, first, queue } = await refreshing({ requestedRegion });
    const load = (each: Region) => {
      const renderers = (alive as readonly Region[]).includes(each) ? 1 : 0;
      return { renderers, slots: renderers, busy: 0, renderMs: null };
    };
    await runAt(first, { fleet: { load } });
    expect(await queue()).toMatchObject([{ region }]);
  });
});
