import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Sweep, whatIsDue } from '../../../services/controller/chores/sweep.ts';
import { until } from '../../harness/until.ts';
import { queueCapture } from './support/jobs.ts';
import { useSettling } from './support/settling.ts';

const on = useSettling();
const always = { holds: () => true };

describe('the sweep', () => {
  const sweep = () => new Sweep(on());
  const pull = () => pullOne(on().session.nc, streamNames.captures, captureDurable('us-east', 'interactive'), 500);

  test('fails a capture that nobody took in time, tells who waits, and takes the job away', async () => {
    const late = await queueCapture(on().session, { startInMs: -5000 });
    const heard = on().listen(late.job);
    await sweep().pass(always);
    const record = await heard.record;
    expect(record).toMatchObject({
      status: 'failed',
      failure: { code: 'CAPTURE_TIMEOUT', message: 'No renderer took the capture within 25 s.' },
    });
    expect(await late.record()).toEqual(record);
    expect([await on().waiting(), await on().settled('not_started')]).toEqual([0, 1]);
  });

  test('leaves alone what still has time, is just late, or is being rendered', async () => {
    const young = await queueCapture(on().session);
    const justLate = await queueCapture(on().session, { startInMs: -1000 });
    const rendering = await queueCapture(on().session, { startInMs: -5000 });
    await on().captures.begin(rendering.job);
    await sweep().pass(always);
    const states = await Promise.all(
      [young, justLate, rendering].map(async (queued) => (await queued.record())?.status),
    );
    expect(states).toEqual(['queued', 'queued', 'rendering']);
    expect(await on().waiting()).toBe(3);
  });

  test('fails a capture whose renderer is gone once its deadline has passed', async () => {
    const lost = await queueCapture(on().session, { startInMs: -20_000, deadlineInMs: -5000 });
    await on().captures.begin(lost.job);
    await sweep().pass(always);
    expect((await lost.record())?.failure).toEqual({
      code: 'CAPTURE_TIMEOUT',
      message: 'The capture did not end within 25 s.',
    });
    expect([await on().waiting(), await on().settled('deadline')]).toEqual([0, 1]);
  });

  test('removes jobs whose captures have ended or are no longer known', async () => {
    const ended = await queueCapture(on().session, { startInMs: -5000 });
    await on().captures.cancelQueued(ended.job, {
      code: 'CAPTURE_FAILED',
      message: 'The client went away.',
    });
    await queueCapture(on().session, { startInMs: -20_000, deadlineInMs: -5000, unrecorded: true });
    await sweep().pass(always);
    expect(await on().waiting()).toBe(0);
    expect((await ended.record())?.failure?.message).toBe('The client went away.');
    expect(await on().settled('not_started')).toBe(0);
  });

  test('either the sweep or the renderer that has just taken it gets the capture, never both', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const late = await queueCapture(on().session, { startInMs: -5000 });
      const begin = async () => {
        await sleep(round / 6);
        return on().captures.begin(late.job);
      };
      const [begun] = await Promise.all([begin(), sweep().pass(always)]);
      const record = await late.record();
      expect(record?.status).toBe(begun?.status);
      expect(await on().waiting()).toBe(record?.status === 'failed' ? 0 : 1);
      outcomes.add(record?.status ?? '');
      await on().session.jsm.streams.purge(streamNames.captures);
    }
    expect([...outcomes].every((status) => ['failed', 'rendering'].includes(status))).toBe(true);
  });

  test('reaches what is overdue in the middle of a long queue, and in regions that are not installed', async () => {
    for (let index = 0; index < 40; index++) await queueCapture(on().session, { lane: 'background' });
    const deep = await queueCapture(on().session, { lane: 'background', startInMs: -5000 });
    for (let index = 0; index < 5; index++) await queueCapture(on().session, { lane: 'background' });
    const elsewhere = await queueCapture(on().session, { region: 'asia-east', startInMs: -5000 });
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

  test('a renderer that pulls a job which was swept finds a capture that has ended', async () => {
    const late = await queueCapture(on().session, { startInMs: -5000 });
    const message = await pull();
    await sweep().pass(always);
    expect((await on().captures.begin(late.job))?.status).toBe('failed');
    await message?.ack();
    expect(await on().waiting()).toBe(0);
  });

  test('does nothing once the term is over', async () => {
    const late = await queueCapture(on().session, { startInMs: -5000 });
    await sweep().pass({ holds: () => false });
    expect((await late.record())?.status).toBe('queued');
  });

  test.each([
    ['queued', 0, 'not_started'],
    ['rendering', 0, null],
    ['rendering', 1000, 'deadline'],
    ['completed', 0, 'remove'],
    ['failed', 0, 'remove'],
    [null, 0, null],
    [null, 1000, 'remove'],
  ] as const)('a capture that is %s, %i ms past its deadline: %s', (status, past, due) => {
    const job = { acceptedAt: 0, startBy: 1000, deadline: 5000 };
    const answer = whatIsDue(job, status, 5000 + past);
    expect(answer === null || answer === 'remove' ? answer : answer.reason).toBe(due);
  });
});
