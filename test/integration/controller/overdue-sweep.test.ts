import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { backgroundShards, captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { CaptureList } from '../../../services/front/capture/capture-list.ts';
import { backgroundShardOf } from '@webcapture/shared/queue/jobs.ts';
import { begin, cancelQueued, remove, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { decideOverdue } from '../../../services/controller/recovery/fail-capture.ts';
import { OverdueSweep } from '../../../services/controller/recovery/overdue-sweep.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { expiriesOf } from '../../harness/queues.ts';
import { newOutcome } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { queueCapture } from './support/jobs.ts';
import { queueRefresh } from './support/refreshes.ts';
import { completeCapture, useSettling } from './support/settling.ts';
import { tasking } from './support/tasking.ts';

const on = useSettling();
const inBackground = { priority: 'background' } as const;
const shard = captureDurable('us-east', 'background', backgroundShardOf('acme', backgroundShards));
const always = { holds: () => true };
const never = (): never => {
  throw new Error('the record is not as it should be');
};

describe('the sweep', () => {
  const sweep = () => new OverdueSweep(on());
  const pull = () => pullOne(on().session.nc, streamNames.captures, shard, 5000);

  test('fails a background capture that no renderer took in time, and removes its job', async () => {
    const late = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    await sweep().pass(always);
    expect(await late.record()).toMatchObject({
      status: 'failed',
      failure: { code: 'CAPTURE_TIMEOUT', message: 'No renderer took the capture within 25 s.', cause: 'service' },
    });
    expect([await on().waiting(), await on().settled('not_started')]).toEqual([0, 1]);
  });

  test('fails an interactive capture of a dead front after its deadline: uncharged, answered, and listed', async () => {
    const { usage } = tasking(on());
    const times = { startInMs: -20_000, deadlineInMs: -5000 };
    const lost = await queueCapture(on().session, { account: 'orphan', ...times });
    const heard = on().listen(lost.job);
    expect(await lost.record()).toBeNull();
    await sweep().pass(always);
    const failure = { code: 'CAPTURE_TIMEOUT', message: 'The capture did not finish within 25 s.', cause: 'service' };
    expect((await heard.result).outcome).toEqual({ kind: 'failed', ...failure });
    const endedAt = expect.any(Number) as number;
    expect(await lost.record()).toEqual({ ...lost.accepted, status: 'failed', failure, endedAt });
    expect(await usage('orphan')).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
    const { records } = await new CaptureList(on().session).list('orphan', { limit: 5, since: 0, now: Date.now() });
    expect(records.map(({ uuid, status }) => [uuid, status])).toEqual([[lost.accepted.uuid, 'failed']]);
    expect([await on().waiting(), await on().settled('deadline')]).toEqual([0, 1]);
  });

  test('ignores captures that have time, are just late, are being rendered, or have a waiting front', async () => {
    const young = await queueCapture(on().session, inBackground);
    const justLate = await queueCapture(on().session, { ...inBackground, startInMs: -1000 });
    const now = justLate.job.startBy + 1000;
    const rendering = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    await on().captures.change(rendering.job, begin(rendering.job.revision));
    const awaited = await queueCapture(on().session, { startInMs: -5000 });
    await new OverdueSweep({ ...on(), now: () => now }).pass(always);
    const states = await Promise.all(
      [young, justLate, rendering, awaited].map(async (queued) => (await queued.record())?.status),
    );
    expect(states).toEqual(['queued', 'queued', 'rendering', undefined]);
    expect(await on().waiting()).toBe(4);
  });

  test('fails a capture whose renderer is gone after its deadline', async () => {
    const lost = await queueCapture(on().session, { ...inBackground, startInMs: -20_000, deadlineInMs: -5000 });
    await on().captures.change(lost.job, begin(lost.job.revision));
    await sweep().pass(always);
    expect((await lost.record())?.failure).toEqual({
      code: 'CAPTURE_TIMEOUT',
      message: 'The capture did not finish within 25 s.',
      cause: 'service',
    });
    expect([await on().waiting(), await on().settled('deadline')]).toEqual([0, 1]);
  });

  test('removes jobs whose captures have ended or are unknown', async () => {
    const ended = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    await on().captures.change(
      ended.job,
      cancelQueued(0, {
        code: 'CAPTURE_FAILED',
        message: 'The client went away.',
        cause: 'service',
      }),
    );
    const past = { startInMs: -20_000, deadlineInMs: -5000 };
    await queueCapture(on().session, { ...inBackground, ...past, unrecorded: true });
    const answered = await queueCapture(on().session, past);
    await completeCapture(on().captures, answered.job.ticket, newOutcome(), Date.now() + 60_000);
    await sweep().pass(always);
    expect((await answered.record())?.status).toBe('completed');
    expect(await on().waiting()).toBe(0);
    expect((await ended.record())?.failure?.message).toBe('The client went away.');
    expect(await on().settled('not_started')).toBe(0);
  });

  test('or a renderer that has just taken a capture gets it, never both', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const late = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
      const beginLater = async () => {
        await sleep(round / 6);
        return on().captures.change(late.job, begin(late.job.revision));
      };
      const [begun] = await Promise.all([beginLater(), sweep().pass(always)]);
      const record = await late.record();
      expect(record?.status).toBe(begun?.status);
      expect(await on().waiting()).toBe(record?.status === 'failed' ? 0 : 1);
      outcomes.add(record?.status ?? '');
      await on().session.jsm.streams.purge(streamNames.captures);
    }
    expect([...outcomes].every((status) => ['failed', 'rendering'].includes(status))).toBe(true);
  });

  test('reaches overdue captures in the middle of a long queue, and in regions that are not installed', async () => {
    for (let index = 0; index < 40; index++) await queueCapture(on().session, inBackground);
    const deep = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    for (let index = 0; index < 5; index++) await queueCapture(on().session, inBackground);
    const elsewhere = await queueCapture(on().session, { ...inBackground, region: 'asia-east', startInMs: -5000 });
    const walk = sweep();
    let passes = 0;
    await until('the deep one to be settled', async () => {
      passes++;
      await walk.pass(always);
      return (await deep.record())?.status === 'failed';
    });
    expect(passes).toBeLessThanOrEqual(3);
    expect((await elsewhere.record())?.status).toBe('failed');
    expect(await on().waiting()).toBe(45);
  });

  test('has failed a capture before a renderer that holds its job begins', async () => {
    const late = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    const message = await pull();
    await sweep().pass(always);
    expect((await on().captures.change(late.job, begin(late.job.revision)))?.status).toBe('failed');
    await message?.ack();
    expect(await on().waiting()).toBe(0);
  });

  test('does nothing after its term', async () => {
    const late = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    await sweep().pass({ holds: () => false });
    expect((await late.record())?.status).toBe('queued');
  });

  test.each([
    ['not taken', false, { startInMs: -5000 }, 'No renderer took the capture within 25 s.', 'not_started'],
    [
      'did not end',
      true,
      { startInMs: -20_000, deadlineInMs: -5000 },
      'The capture did not finish within 25 s.',
      'deadline',
    ],
  ] as const)('fails a refresh that %s, uncharged; its capture stays', async (_name, begun, times, message, reason) => {
    const account = `refresh-${reason}`;
    const { usage } = tasking(on());
    const late = await queueRefresh(on(), account, times);
    if (begun) await on().captures.change(late.job, begin(late.job.revision));
    expect(await usage(account)).toEqual({ tokens: 2, captures: 1, reserved: 2, queued: 1 });
    await sweep().pass(always);
    expect(await late.record()).toMatchObject({
      status: 'completed',
      refresh: { revision: 1, state: 'failed', failure: { code: 'CAPTURE_TIMEOUT', message } },
    });
    expect(await usage(account)).toEqual({ tokens: 2, captures: 1, reserved: 0, queued: 0 });
    expect([await on().waiting(), await on().settled(reason)]).toEqual([0, 1]);
  });

  test('removes the job of a refresh whose capture was deleted, or that was followed by another refresh', async () => {
    const late = { startInMs: -5000 };
    const [deleted, followed] = [await queueRefresh(on(), 'gone', late), await queueRefresh(on(), 'gone', late)];
    await on().captures.change(deleted.job, remove);
    await on().captures.fail(followed.job, { code: 'CAPTURE_FAILED', message: 'x', cause: 'service' });
    const { state: _state, failure: _failure, endedAt: _end, ...order } = (await followed.record())?.refresh ?? never();
    await on().captures.change(followed.job, startRefresh({ ...order, revision: 2 }));
    await sweep().pass(always);
    expect(await on().waiting()).toBe(0);
    expect((await followed.record())?.refresh).toMatchObject({ revision: 2, state: 'queued' });
  });

  test('schedules the follow-ups of a capture if the service that ended it died', async () => {
    const late = await queueCapture(on().session, { ...inBackground, startInMs: -5000 });
    const expiresAt = Date.now() + 3_600_000;
    await completeCapture(on().captures, late.job, newOutcome(), expiresAt);
    const { uuid } = late.accepted;
    expect(await expiriesOf(on().session, uuid)).toEqual([]);
    await sweep().pass(always);
    expect(await expiriesOf(on().session, uuid)).toEqual([expiresAt]);
    expect(await on().waiting()).toBe(0);
  });

  test.each([
    ['queued', 0, 'not_started'],
    ['rendering', 0, null],
    ['rendering', 1000, 'deadline'],
    ['completed', 0, 'remove'],
    ['failed', 0, 'remove'],
    ['none', 0, 'remove'],
    [null, 0, null],
    [null, 1000, 'remove'],
  ] as const)('decides about a capture that is %s, %i ms past its deadline: %s', (status, past, due) => {
    const job = { acceptedAt: 0, startBy: 1000, deadline: 5000 };
    const answer = decideOverdue(job, status, 5000 + past);
    expect(answer === null || answer === 'remove' ? answer : answer.reason).toBe(due);
  });
});
