// @module-tag long
import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { compareAndSet, retryTransient } from '@webcapture/shared/nats/retry.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { begin } from '@webcapture/shared/captures/transitions.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { jobOf } from '@webcapture/shared/queue/job.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';

const conflict = () => new JetStreamApiError({ err_code: 10071, code: 400, description: 'wrong last sequence: 7' });
const never = () => new Promise<never>(() => undefined);

/** Returns the error of failed work, and how long the work took. */
async function failing(work: Promise<unknown>) {
  const start = performance.now();
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, ms: performance.now() - start };
}

test('a call that succeeds at the third attempt is made three times', async () => {
  let calls = 0;
  const call = async () => {
    if (++calls < 3) throw new TimeoutError();
    return 'done';
  };
  expect([await retryTransient(call, { deadline: Date.now() + 20_000 }), calls]).toEqual(['done', 3]);
});

test('no attempt outlives the deadline, each gets its remaining time, and the last error is thrown', async () => {
  const deadline = Date.now() + 1000;
  const timeouts: number[] = [];
  const ends: number[] = [];
  let asked = 0;
  const now = () => (asked = Date.now());
  const call = (timeoutMs: number) => {
    timeouts.push(timeoutMs);
    ends.push(asked + timeoutMs);
    return never();
  };
  const { error, ms } = await failing(retryTransient(call, { deadline, attemptTimeoutMs: 400, now }));
  expect(error).toBeInstanceOf(DeadlineError);
  expect(timeouts.length).toBeGreaterThanOrEqual(2);
  expect(timeouts[0]).toBe(400);
  expect(Math.max(...ends)).toBeLessThanOrEqual(deadline);
  expect(ms).toBeGreaterThan(700);
  expect(ms).toBeLessThan(5000);
});

test('after the deadline no attempt begins', async () => {
  let calls = 0;
  const call = async () => void calls++;
  const passed = { deadline: Date.now() - 1 };
  expect((await failing(retryTransient(call, passed))).error).toBeInstanceOf(DeadlineError);
  expect((await failing(compareAndSet(call, passed))).error).toBeInstanceOf(DeadlineError);
  // On this clock, the deadline has not passed yet.
  await retryTransient(call, { ...passed, now: () => Date.now() - 60_000 });
  expect(calls).toBe(1);
});

test('a permanent error is thrown at once, and a signal ends the attempts', async () => {
  let calls = 0;
  const broken = async () => {
    calls++;
    throw new TypeError('x');
  };
  const deadline = Date.now() + 60_000;
  expect((await failing(retryTransient(broken, { deadline }))).error).toBeInstanceOf(TypeError);
  expect((await failing(compareAndSet(broken, { deadline }))).error).toBeInstanceOf(TypeError);
  expect((await failing(retryTransient(async () => Promise.reject(conflict()), { deadline }))).error).toBeInstanceOf(
    JetStreamApiError,
  );
  expect(calls).toBe(2);
  const aborter = new AbortController();
  const away = async () => {
    if (++calls === 4) aborter.abort();
    throw new TimeoutError();
  };
  expect((await failing(retryTransient(away, { deadline, signal: aborter.signal }))).error).toBeInstanceOf(
    TimeoutError,
  );
  expect(calls).toBe(4);
});

test('a compare-and-set is repeated after every conflict until it succeeds', async () => {
  let calls = 0;
  const call = async () => {
    if (++calls <= 60) throw calls % 10 === 0 ? new TimeoutError() : conflict();
    return calls;
  };
  expect(await compareAndSet(call, { deadline: Date.now() + 50_000 })).toBe(61);
});

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

test('while NATS is unavailable, every write fails by the deadline of its caller', async () => {
  const { session } = nats;
  const [captures, jobs, tasks, cache] = [
    new Captures(session),
    new Jobs(session, new Tickets(session)),
    new Tasks(session),
    new Cache(session),
  ];
  const record = newRecord({ status: 'queued' });
  const place = { name: 'x', ttl: 60 };
  await nats.kill();
  const limits = { deadline: Date.now() + 1500 };
  const all = await Promise.all([
    failing(captures.create(record, limits)),
    failing(captures.change(record, begin(0), limits)),
    failing(captures.fail(record, { code: 'CAPTURE_FAILED', message: '', cause: 'service' }, limits)),
    failing(captures.change(record, (found) => ({ ...found, tokenCost: 9 }), limits)),
    failing(jobs.publish(jobOf(record, 0), limits)),
    failing(tasks.publish({ kind: 'expiry', account: 'a', uuid: record.uuid }, limits.deadline)),
    failing(cache.fill('a', place, record, limits)),
  ]);
  await nats.start();
  for (const { error, ms } of all) {
    expect(error).toBeInstanceOf(Error);
    expect(ms).toBeLessThan(3000);
  }
});
