import { randomUUIDv7 } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import type { CaptureRecord, WebhookDelivery } from '@webcapture/shared/captures/capture-record.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { streamNames, taskDurable, taskKinds } from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/captures/times.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { parseTask, type Task } from '@webcapture/shared/queue/tasks.ts';
import { noteDelivery, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import {
  createAuditMetrics,
  auditIfDue,
  type AuditDeps,
  type AuditState,
} from '../../../services/controller/recovery/audit.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { recoverLostJob } from '../../../services/controller/recovery/lost-jobs.ts';
import { ExpirySweep } from '../../../services/controller/jobs/expiry.ts';
import { refreshCapture } from '../../../services/controller/jobs/refresh.ts';
import { fake } from '../../harness/fake.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { expiriesOf } from '../../harness/queues.ts';
import { recordingLog, type LogLine } from './support/recording-log.ts';
import { hour, orderOf } from './support/refresh-order.ts';
import { useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();
const minute = 60_000;
const day = 24 * hour;

beforeEach(async () => {
  const { jsm } = on().session;
  for (const stream of [streamNames.tasks, streamNames.expiry, streamNames.db, streamNames.live]) {
    await jsm.streams.purge(stream);
  }
});

/** Runs an audit at a later time, because an audit skips records of the last minutes. */
function auditing(aheadMs = 11 * minute, changes: Partial<AuditDeps> = {}) {
  const { session } = on();
  const tools = tasking(on());
  const lines: LogLine[] = [];
  const registry = createMetrics('test');
  const live = new Entries(session, 'live');
  const deps: AuditDeps = {
    ...tools.deps,
    session,
    live,
    auditMetrics: createAuditMetrics(registry),
    log: recordingLog(lines),
    now: () => Date.now() + aheadMs,
    ...changes,
  };
  const aborter = new AbortController();
  const term = { holds: () => !aborter.signal.aborted, signal: aborter.signal };
  return {
    ...tools,
    lines,
    audit: (intervalMs = 0) => auditIfDue(deps, intervalMs, term, 0),
    progress: async () => (await live.get<AuditState>('record-audit.pass'))?.value,
    resign: () => aborter.abort(),
  };
}

/** Takes every due task from the stream. */
async function takeTasks(): Promise<Task[]> {
  const taken: Task[] = [];
  for (const kind of taskKinds) {
    for (;;) {
      const message = await pullOne(on().session.nc, streamNames.tasks, taskDurable(kind), 0);
      if (message === null) break;
      taken.push(parseTask(message.data));
      await message.ack();
    }
  }
  return taken;
}

const purgeReminders = async () => {
  for (const stream of [streamNames.tasks, streamNames.expiry]) await on().session.jsm.streams.purge(stream);
};
const kindsOf = (tasks: readonly Task[]) => tasks.map(({ kind, uuid }) => `${kind} ${uuid}`).toSorted();

const pending = (changes: Partial<WebhookDelivery> = {}): WebhookDelivery => ({
  url: 'https://hooks.example/',
  state: 'pending',
  event: 'capture.completed',
  revision: 0,
  occurredAt: Date.now() - hour,
  attempts: 0,
  ...changes,
});

test('due work is scheduled again from the records after all tasks and index entries were lost, once', async () => {
  const { session, captures } = on();
  const { deps, completed, audit, stored, queue, lines } = auditing();
  const followUps = new FollowUps(deps.tasks, deps.expiryIndex);
  const expired = await completed({ account: 'a', expiresAt: Date.now() - hour });
  const interval = { persistence: { refreshIntervalMs: hour }, expiresAt: Date.now() + 100 * day };
  await deps.accounts.put({ id: 'a', name: 'a', createdAt: 1 });
  const refreshed = await completed({ account: 'a', ...interval });
  await captures.change(refreshed, (record) => ({ ...record, nextRefreshAt: Date.now() - minute }));
  const told = await completed({ account: 'a' });
  await captures.change(told, (record) => ({ ...record, webhook: pending() }));
  const lost = newRecord({
    account: 'a',
    priority: 'background',
    startBy: Date.now() - hour,
    deadline: Date.now() - hour,
  });
  await captures.create(lost);
  for (const { uuid } of [expired, refreshed, told]) {
    const record = (await captures.get('a', uuid))?.value;
    if (record !== undefined) await followUps.schedule(record);
  }
  await purgeReminders();

  await audit();
  expect(await expiriesOf(session, expired.uuid)).toHaveLength(1);
  const tasks = await takeTasks();
  expect(kindsOf(tasks)).toEqual(
    [`dispatch ${lost.uuid}`, `refresh ${refreshed.uuid}`, `webhook ${told.uuid}`].toSorted(),
  );
  for (const task of tasks) {
    if (task.kind === 'dispatch') await recoverLostJob(task, deps);
    if (task.kind === 'refresh') await refreshCapture(task, deps);
    if (task.kind === 'webhook') {
      const { url, state: _, ...rest } = pending();
      await captures.change(task, noteDelivery(0, { ...rest, url, attempts: 1, state: 'delivered' }));
    }
  }
  const sweep = new ExpirySweep({
    ...deps,
    session,
    metrics: createControllerMetrics(createMetrics('test')),
    log: recordingLog([]),
    now: () => Date.now() + 13 * minute,
  });
  await sweep.pass({ holds: () => true });
  expect((await stored(expired))?.status).toBe('expired');
  expect(await stored(lost)).toMatchObject({ status: 'failed', failure: { code: 'CAPTURE_TIMEOUT' } });
  expect((await queue()).map(({ uuid, revision }) => [uuid, revision])).toEqual([[refreshed.uuid, 1]]);

  // Work that is running or done is not started again.
  await takeTasks();
  lines.length = 0;
  await audit();
  expect(await takeTasks()).toEqual([]);
  expect(await expiriesOf(session, expired.uuid)).toEqual([]);
  expect(lines.map(({ message }) => message)).toEqual(['audit of capture records finished: no task was missing']);
});

test('work that is not due yet is scheduled for its time', async () => {
  const { captures } = on();
  const { deps, completed, audit, dueAt } = auditing();
  const interval = { persistence: { refreshIntervalMs: 10 * hour }, expiresAt: Date.now() + 100 * day };
  const refreshed = await completed({ account: 'a', ...interval });
  const nextRefreshAt = (await captures.get('a', refreshed.uuid))?.value.nextRefreshAt ?? 0;
  const told = await completed({ account: 'a' });
  const nextAttemptAt = Date.now() + 2 * hour;
  await captures.change(told, (record) => ({ ...record, webhook: pending({ attempts: 4, nextAttemptAt }) }));
  const refreshing = await completed({ account: 'a' });
  const order = orderOf(1);
  await deps.captures.change(refreshing, startRefresh(order));
  await audit();
  const close = async (kind: 'refresh' | 'webhook' | 'dispatch', record: CaptureRecord, at: number, revision = 0) =>
    expect(Math.abs(((await dueAt(kind, record, revision)) ?? 0) - at), kind).toBeLessThan(1000);
  await close('refresh', refreshed, nextRefreshAt);
  await close('webhook', told, nextAttemptAt);
  await close('dispatch', refreshing, overdueAt(order.deadline), 1);
  expect(await takeTasks()).toEqual([]);
});

test('tasks that already wait are not duplicated, and recent records are left to their writers', async () => {
  const { captures } = on();
  const due = auditing();
  const early = auditing(0);
  const told = await due.completed({ account: 'a' });
  const record = await captures.change(told, (before) => ({ ...before, webhook: pending() }));
  await early.audit();
  expect(await takeTasks()).toEqual([]);
  await new FollowUps(due.deps.tasks, due.deps.expiryIndex).schedule(record ?? told);
  await due.audit();
  expect(kindsOf(await takeTasks())).toEqual([`webhook ${told.uuid}`]);
});

test('an audit runs once per interval, and an interrupted one is continued', async () => {
  const { session } = on();
  for (let start = 0; start < 1500; start += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const record = newRecord({
          account: 'a',
          status: 'completed',
          outcome: newOutcome(),
          expiresAt: Date.now() - hour,
        });
        await session.js.publish(`$KV.db.${captureKey('a', record.uuid)}`, JSON.stringify(record));
      }),
    );
  }
  const noted: string[] = [];
  const first = auditing(11 * minute, {
    captures: fake({ get: async () => (first.resign(), null) }),
    expiryIndex: fake({ add: async () => undefined }),
  });
  await first.audit(day);
  expect(await first.progress()).toMatchObject({ records: 1000, endedAt: null });
  const second = auditing(11 * minute, {
    captures: fake({ get: async (_, uuid) => (noted.push(uuid), null) }),
  });
  await second.audit(day);
  expect(noted).toHaveLength(500);
  expect(await second.progress()).toMatchObject({ records: 1500, endedAt: expect.any(Number) });
  await second.audit(day);
  expect(noted).toHaveLength(500);
  await second.audit(0);
  expect(noted).toHaveLength(2000);
});

test('lost tasks of batches with a webhook are scheduled again', async () => {
  const { session } = on();
  const { audit } = auditing();
  const batches = new Batches(session);
  const add = async (webhook: object) => {
    const uuid = randomUUIDv7();
    const times = { acceptUntil: Date.now(), keepUntil: Date.now() + hour };
    await batches.create({ uuid, account: 'a', captures: [], ...times, ...webhook });
    return uuid;
  };
  const waiting = { url: 'https://hooks.example/', state: 'waiting', attempts: 0 } as const;
  const open = await add({ webhook: waiting });
  const ended = await add({ webhook: pending({ event: 'batch.completed' }) });
  await add({ webhook: { ...waiting, state: 'delivered' } });
  await add({});

  await audit();
  expect(kindsOf(await takeTasks())).toEqual([`batch ${open}`, `webhook ${ended}`].toSorted());
});
