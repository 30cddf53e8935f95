import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Registry } from 'prom-client';
import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { pullOne } from '@webcapture/shared/nats/pull.ts';
import { captureDurable, deadLetterDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { Jobs } from '@webcapture/shared/state/jobs.ts';
import { decodeResult } from '@webcapture/shared/state/results.ts';
import { ControllerMetrics } from '../../../services/controller/apply/metrics.ts';
import { parseAdvisory } from '../../../services/controller/chores/advisory.ts';
import { newCanary } from '../../../services/controller/chores/canary-job.ts';
import { settleDeadLetters } from '../../../services/controller/chores/dead-letters.ts';
import { removeOldCanaries } from '../../../services/controller/chores/old-canaries.ts';
import { removeRetiredDurables } from '../../../services/controller/chores/retired-durables.ts';
import { Settler } from '../../../services/controller/chores/settler.ts';
import { Sweep, whatIsDue } from '../../../services/controller/chores/sweep.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { until } from '../../harness/until.ts';
import { queueCapture, type Queued } from './support/jobs.ts';

let nats: TestNats;
let session: NatsSession;
let captures: Captures;
let settler: Settler;
let metrics: Registry;
beforeAll(async () => {
  nats = await startTestNats(['us-east', 'eu-west']);
  ({ session } = nats);
  captures = new Captures(session);
});
afterAll(() => nats[Symbol.asyncDispose]());
beforeEach(async () => {
  await session.jsm.streams.purge(streamNames.captures);
  metrics = new Registry();
  settler = new Settler(session, captures, new ControllerMetrics(metrics), silentLog);
});

const always = { holds: () => true };
const waiting = async () => (await session.jsm.streams.info(streamNames.captures)).state.messages;
const settled = async (reason: string) => {
  const counter = (await metrics.getMetricsAsJSON()).find(({ name }) => name === 'webcapture_captures_settled_total');
  return counter?.values.find(({ labels }) => labels['reason'] === reason)?.value;
};

/** What is announced of a capture. */
function listen(job: CaptureJob): { readonly record: Promise<CaptureRecord> } {
  const { promise, resolve } = Promise.withResolvers<CaptureRecord>();
  session.nc.subscribe(job.resultSubject ?? '', {
    max: 1,
    callback: (_, message) => resolve(decodeResult(message.data).record),
  });
  return { record: promise };
}

describe('the sweep', () => {
  const sweep = () => new Sweep({ session, captures, jobs: new Jobs(session), settler });
  const pull = () => pullOne(session.nc, streamNames.captures, captureDurable('us-east', 'interactive'), 500);

  test('fails a capture that nobody took in time, tells who waits, and takes the job away', async () => {
    const late = await queueCapture(session, { startInMs: -5000 });
    const heard = listen(late.job);
    await sweep().pass(always);
    const record = await heard.record;
    expect(record).toMatchObject({
      status: 'failed',
      failure: { code: 'CAPTURE_TIMEOUT', message: 'No renderer took the capture within 25 s.' },
    });
    expect(await late.record()).toEqual(record);
    expect([await waiting(), await settled('not_started')]).toEqual([0, 1]);
  });

  test('leaves alone what still has time, is just late, or is being rendered', async () => {
    const young = await queueCapture(session);
    const justLate = await queueCapture(session, { startInMs: -1000 });
    const rendering = await queueCapture(session, { startInMs: -5000 });
    await captures.begin('acme', rendering.job.uuid);
    await sweep().pass(always);
    const states = await Promise.all(
      [young, justLate, rendering].map(async (queued) => (await queued.record())?.status),
    );
    expect(states).toEqual(['queued', 'queued', 'rendering']);
    expect(await waiting()).toBe(3);
  });

  test('fails a capture whose renderer is gone once its deadline has passed', async () => {
    const lost = await queueCapture(session, { startInMs: -20_000, deadlineInMs: -5000 });
    await captures.begin('acme', lost.job.uuid);
    await sweep().pass(always);
    expect((await lost.record())?.failure).toEqual({
      code: 'CAPTURE_TIMEOUT',
      message: 'The capture did not end within 25 s.',
    });
    expect([await waiting(), await settled('deadline')]).toEqual([0, 1]);
  });

  test('removes jobs whose captures have ended or are no longer known', async () => {
    const ended = await queueCapture(session, { startInMs: -5000 });
    await captures.cancelQueued('acme', ended.job.uuid, { code: 'CAPTURE_FAILED', message: 'The client went away.' });
    await queueCapture(session, { startInMs: -20_000, deadlineInMs: -5000, unrecorded: true });
    await sweep().pass(always);
    expect(await waiting()).toBe(0);
    expect((await ended.record())?.failure?.message).toBe('The client went away.');
    expect(await settled('not_started')).toBe(0);
  });

  test('either the sweep or the renderer that has just taken it gets the capture, never both', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 30; round++) {
      const late = await queueCapture(session, { startInMs: -5000 });
      const begin = async () => {
        await sleep(round / 6);
        return captures.begin('acme', late.job.uuid);
      };
      const [begun] = await Promise.all([begin(), sweep().pass(always)]);
      const record = await late.record();
      expect(record?.status).toBe(begun?.status);
      expect(await waiting()).toBe(record?.status === 'failed' ? 0 : 1);
      outcomes.add(record?.status ?? '');
      await session.jsm.streams.purge(streamNames.captures);
    }
    expect([...outcomes].every((status) => ['failed', 'rendering'].includes(status))).toBe(true);
  });

  test('reaches what is overdue in the middle of a long queue, and in regions that are not installed', async () => {
    for (let index = 0; index < 40; index++) await queueCapture(session, { lane: 'background' });
    const deep = await queueCapture(session, { lane: 'background', startInMs: -5000 });
    for (let index = 0; index < 5; index++) await queueCapture(session, { lane: 'background' });
    const elsewhere = await queueCapture(session, { region: 'asia-east', startInMs: -5000 });
    const walk = sweep();
    let passes = 0;
    await until('the deep one to be settled', async () => {
      passes++;
      await walk.pass(always);
      return (await deep.record())?.status === 'failed';
    });
    expect(passes).toBeLessThanOrEqual(3);
    expect((await elsewhere.record())?.status).toBe('failed');
    expect(await waiting()).toBe(45);
  });

  test('a renderer that pulls a job which was swept finds a capture that has ended', async () => {
    const late = await queueCapture(session, { startInMs: -5000 });
    const message = await pull();
    await sweep().pass(always);
    expect((await captures.begin('acme', late.job.uuid))?.status).toBe('failed');
    await message?.ack();
    expect(await waiting()).toBe(0);
  });

  test('does nothing once the term is over', async () => {
    const late = await queueCapture(session, { startInMs: -5000 });
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
    const job = { acceptedAt: 0, startBy: 1000, deadline: 5000, revision: 0 };
    const answer = whatIsDue(job, status, 5000 + past);
    expect(answer === null || answer === 'remove' ? answer : answer.reason).toBe(due);
  });

  test('the job of a refresh is kept for its own deadline, since its capture had completed before', () => {
    const job = { acceptedAt: 0, startBy: 1000, deadline: 5000, revision: 1 };
    expect([whatIsDue(job, 'completed', 2000), whatIsDue(job, 'completed', 5001)]).toEqual([null, 'remove']);
  });
});

describe('dead letters', () => {
  const lead = () => {
    const aborter = new AbortController();
    const { signal } = aborter;
    const done = settleDeadLetters(
      { session, jobs: new Jobs(session), settler, log: silentLog },
      { signal, holds: () => !signal.aborted },
    );
    return async () => {
      aborter.abort();
      const start = performance.now();
      await done;
      expect(performance.now() - start).toBeLessThan(500);
    };
  };
  const durable = captureDurable('us-east', 'interactive');
  /** Lets a job be delivered three times without an answer, and somebody pull once more. */
  const exhaust = async () => {
    await until('the job to be given up', async () => {
      (await pullOne(session.nc, streamNames.captures, durable, 100))?.handBack(10);
      return (await session.jsm.streams.info(streamNames.dead)).state.messages > 0;
    });
  };
  const letters = async () => (await session.jsm.streams.info(streamNames.dead)).state.messages;
  beforeEach(() => session.jsm.streams.purge(streamNames.dead));

  const expectSettled = async (capture: Queued, message: string) => {
    await until('the letter to be settled', async () => (await letters()) === 0);
    expect((await capture.record())?.failure).toEqual({ code: 'CAPTURE_FAILED', message });
    expect([await waiting(), await settled('max_deliveries')]).toEqual([0, 1]);
  };

  test('a job that was delivered three times in vain is settled as failed, told, and removed', async () => {
    const capture = await queueCapture(session);
    const heard = listen(capture.job);
    await exhaust();
    const stop = lead();
    await expectSettled(capture, 'The page brought its renderer down three times.');
    expect(await heard.record).toEqual(await capture.record());
    await stop();
  });

  test('also one of a version that no renderer here knows', async () => {
    const future = { version: 99 } as unknown as Partial<CaptureJob>;
    const capture = await queueCapture(session, { job: future });
    await exhaust();
    const stop = lead();
    await expectSettled(capture, 'No renderer of the region knows this kind of capture. Upgrade the renderers.');
    await stop();
  });

  test('a capture that had completed stays completed', async () => {
    const capture = await queueCapture(session);
    await captures.begin('acme', capture.job.uuid);
    const { outcome } = completed();
    await captures.complete('acme', capture.job.uuid, outcome, Date.now() + 60_000);
    await exhaust();
    const stop = lead();
    await until('the letter to be settled', async () => (await letters()) === 0);
    expect((await capture.record())?.status).toBe('completed');
    expect([await waiting(), await settled('max_deliveries')]).toEqual([0, 0]);
    await stop();
  });

  test('letters about jobs that are gone, and what is no letter, are cleared away', async () => {
    const capture = await queueCapture(session);
    (await pullOne(session.nc, streamNames.captures, durable, 500))?.terminate('not a job');
    await until('the advisory', async () => (await letters()) === 1);
    session.nc.publish(`$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${streamNames.captures}.x`, 'no json');
    await until('the other', async () => (await letters()) === 2);
    const stop = lead();
    await until('both to be settled', async () => (await letters()) === 0);
    // The renderer that terminates a job records why; the server has removed it by then.
    expect((await capture.record())?.status).toBe('queued');
    await stop();
  });

  test('a durable that comes later, or comes back, is served', async () => {
    await session.jsm.consumers.delete(streamNames.dead, deadLetterDurable);
    const stop = lead();
    await session.jsm.consumers.add(streamNames.dead, { durable_name: deadLetterDurable, ack_policy: 'explicit' });
    const capture = await queueCapture(session);
    await exhaust();
    await expectSettled(capture, 'The page brought its renderer down three times.');
    await stop();
  });

  test.each([
    ['nothing', '', null],
    ['no JSON', '{', null],
    ['another type', { type: 'io.nats.jetstream.advisory.v1.consumer_action', stream_seq: 1 }, null],
    ['no sequence', { type: 'io.nats.jetstream.advisory.v1.max_deliver' }, null],
    [
      'a letter',
      { type: 'io.nats.jetstream.advisory.v1.max_deliver', stream_seq: 7, deliveries: 3 },
      { reason: 'max_deliveries', sequence: 7, deliveries: 3 },
    ],
  ])('advisory: %s', (_, body, advisory) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    expect(parseAdvisory(new TextEncoder().encode(text))).toEqual(advisory);
  });
});

test('the durables of a region that was removed go once they are empty', async () => {
  const names = async () => {
    const all: string[] = [];
    for await (const { name } of session.jsm.consumers.list(streamNames.captures)) all.push(name);
    return all.filter((name) => name.startsWith('eu-west'));
  };
  const waits = await queueCapture(session, { region: 'eu-west' });
  await removeRetiredDurables(session, ['us-east'], silentLog);
  expect(await names()).toEqual(['eu-west-interactive']);
  // Held by a renderer, and so not empty either.
  const message = await pullOne(session.nc, streamNames.captures, 'eu-west-interactive', 500);
  await removeRetiredDurables(session, ['us-east'], silentLog);
  expect(await names()).toEqual(['eu-west-interactive']);
  await message?.ack();
  await removeRetiredDurables(session, ['us-east'], silentLog);
  expect(await names()).toEqual([]);
  expect((await waits.record())?.status).toBe('queued');
});

test('canaries that a dead controller left behind are removed, newer ones are not', async () => {
  const leave = async (ageMs: number) => {
    const { record } = newCanary('us-east', 1000, 'nowhere');
    const time = (Date.now() - ageMs).toString(16).padStart(12, '0');
    const uuid = `${time.slice(0, 8)}-${time.slice(8)}${randomUUIDv7().slice(13)}`;
    await captures.create({ ...record, uuid });
    return uuid;
  };
  const [old, young] = [await leave(3_600_000), await leave(1000)];
  await removeOldCanaries(session, captures);
  expect(await captures.get('system', old)).toBeNull();
  expect(await captures.get('system', young)).not.toBeNull();
});

const completed = () => ({
  outcome: {
    region: 'us-east',
    mimeType: 'image/png',
    fileSizeBytes: 1,
    width: 1,
    height: 1,
    capturedAt: 0,
    report: {} as never,
  } as const,
});
