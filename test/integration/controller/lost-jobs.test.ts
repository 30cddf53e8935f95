import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { overdueAt } from '@webcapture/shared/captures/times.ts';
import { begin, remove, requeue, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import { recoverLostJob } from '../../../services/controller/recovery/lost-jobs.ts';
import { fake } from '../../harness/fake.ts';
import { expiriesOf } from '../../harness/queues.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { orderOf } from './support/refresh-order.ts';
import { completeCapture, useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();

describe('the recovery of lost jobs:', () => {
  const accepted = async (changes = {}) => {
    const tools = tasking(on());
    const record = newRecord({ account: 'dispatch', priority: 'background', ...changes });
    await tools.deps.captures.create(record);
    const task = { account: record.account, uuid: record.uuid, revision: 0 };
    const run = (now = Date.now()) => recoverLostJob(task, { ...tools.deps, now: () => now });
    return { ...tools, record, run };
  };

  test('a missing job is queued once, and the end of its capture is scheduled', async () => {
    const { run, queue, record, dueAt } = await accepted();
    await run();
    await run();
    expect(await queue()).toMatchObject([{ uuid: record.uuid, revision: 0, priority: 'background' }]);
    expect(Math.abs(((await dueAt('dispatch', record)) ?? 0) - overdueAt(record.deadline))).toBeLessThan(1000);
  });

  test('a job that a renderer returned is queued once with its attempt number', async () => {
    const { run, queue, record, deps, dueAt } = await accepted({ account: 'returned' });
    await run();
    await deps.captures.change(record, requeue(0, 2));
    await run();
    await run();
    const jobs = (await queue()).filter(({ account }) => account === record.account);
    expect(jobs.map((job) => ticketOf(job).attempt)).toEqual([undefined, 2]);
    expect(Math.abs(((await dueAt('dispatch', record)) ?? 0) - overdueAt(record.deadline))).toBeLessThan(1000);
  });

  test('no job is queued for a capture that has begun, has ended, or is unknown', async () => {
    const begun = await accepted();
    await begun.deps.captures.change(begun.record, begin(0));
    const failed = await accepted();
    await failed.deps.captures.fail(failed.record, { code: 'CAPTURE_FAILED', message: 'x', cause: 'service' });
    const deleted = await accepted();
    await deleted.deps.captures.change(deleted.record, remove);
    for (const { run } of [begun, failed, deleted]) await run();
    await recoverLostJob({ account: 'dispatch', uuid: newRecord().uuid, revision: 0 }, begun.deps);
    await recoverLostJob({ account: 'dispatch', uuid: deleted.record.uuid, revision: 3 }, begun.deps);
    expect(await begun.queue()).toEqual([]);
    expect(await begun.dueAt('dispatch', begun.record)).not.toBeNull();
    expect(await begun.dueAt('dispatch', failed.record)).toBeNull();
  });

  test('a record that is not written yet is waited for, but not for long', async () => {
    const { deps, dueAt } = tasking(on());
    const record = newRecord({ account: 'dispatch', priority: 'background' });
    const task = { account: record.account, uuid: record.uuid, revision: 0 };
    await recoverLostJob(task, { ...deps, now: () => record.acceptedAt + 130_000 });
    expect(await dueAt('dispatch', record)).toBeNull();
    await recoverLostJob(task, deps);
    const due = (await dueAt('dispatch', record)) ?? 0;
    expect(due - Date.now()).toBeGreaterThan(5000);
    expect(due - Date.now()).toBeLessThan(30_000);
  });

  test('the follow-ups of an end are scheduled if the service that ended the capture died', async () => {
    const { run, record, deps } = await accepted();
    await deps.captures.change(record, begin(0));
    await completeCapture(deps.captures, record, newOutcome(), record.expiresAt);
    expect(await expiriesOf(on().session, record.uuid)).toEqual([]);
    await run();
    expect(await expiriesOf(on().session, record.uuid)).toEqual([record.expiresAt]);
  });

  test('if the queue is full, the task fails and is repeated', async () => {
    const { run, deps, record } = await accepted();
    const full = { publish: async () => Promise.reject(new Error('the queue is full')) };
    const task = { account: record.account, uuid: record.uuid, revision: 0 };
    await expect(recoverLostJob(task, { ...deps, jobs: fake(full) })).rejects.toThrow('full');
    await run();
  });

  test('a capture whose HTML is missing fails without a charge', async () => {
    const html = randomUUID();
    const { run, queue, record, stored, usage } = await accepted({ account: 'html-gone', html });
    await run();
    expect(await stored(record)).toMatchObject({ status: 'failed', failure: { code: 'STORAGE_FAILED' } });
    expect((await queue()).filter(({ uuid }) => uuid === record.uuid)).toEqual([]);
    expect(await usage(record.account)).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
    expect(await on().settled('html_missing')).toBe(1);
  });

  test.each([
    ['waits', false, 'No renderer took the capture within'],
    ['is being rendered', true, 'The capture did not finish within'],
  ])('a capture whose job was lost while it %s fails after its deadline', async (_name, begun, message) => {
    const { run, deps, record, usage, stored } = await accepted({ account: begun ? 'lost-1' : 'lost-2' });
    if (begun) await deps.captures.change(record, begin(0));
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

  test.each([false, true])('a refresh whose job was lost also fails, begun: %s; its capture stays', async (begun) => {
    const { completed, deps, usage, stored } = tasking(on());
    const account = `lost-refresh-${begun}`;
    const record = await completed({ account });
    const order = orderOf(1);
    await deps.captures.change(record, startRefresh(order));
    if (begun) await deps.captures.change(record, begin(1));
    const task = { account, uuid: record.uuid, revision: 1 };
    await recoverLostJob(task, { ...deps, now: () => overdueAt(order.deadline) });
    expect(await stored(record)).toMatchObject({
      status: 'completed',
      refresh: { state: 'failed', failure: { code: 'CAPTURE_TIMEOUT' } },
    });
    expect(await usage(account)).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
    expect(await on().settled(begun ? 'deadline' : 'not_started')).toBe(1);
  });
});
