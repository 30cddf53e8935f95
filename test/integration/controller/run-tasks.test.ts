import { getEventListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { PermissionViolationError } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { connectNats } from '@webcapture/shared/nats/connect.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { streamNames, taskDurable, taskSubject } from '@webcapture/shared/nats/streams.ts';
import { Tasks, type Task, type TaskOf } from '@webcapture/shared/queue/tasks.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { runTasks, TaskDeferredError } from '../../../services/controller/jobs/tasks.ts';
import { startNats } from '../../../deploy/local/nats.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { recordingLog, type LogLine } from './support/recording-log.ts';

let nats: TestNats;
let inbox: PullInbox;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  inbox = new PullInbox(nats.session);
});
beforeEach(() => nats.session.jsm.streams.purge(streamNames.tasks));
afterAll(() => nats[Symbol.asyncDispose]());

/** The leader of a failed test must not affect the next test. */
const leading: AbortController[] = [];
afterEach(() => leading.splice(0).forEach((aborter) => aborter.abort()));

const left = async () => (await nats.session.jsm.streams.info(streamNames.tasks)).state.messages;
const newTask = (): Task => ({ kind: 'expiry', account: 'acme', uuid: newRecord().uuid });

/** Leads until it is stopped, with the work of a test instead of an expiry. */
function lead(run: (task: TaskOf<'expiry'>) => Promise<void>, parallel = 2, over = inbox) {
  const aborter = new AbortController();
  const { signal } = aborter;
  leading.push(aborter);
  const lines: LogLine[] = [];
  const registry = createMetrics('test');
  const deps = { inbox: over, metrics: createControllerMetrics(registry), log: recordingLog(lines) };
  const done = runTasks({ kind: 'expiry', parallel, run }, deps, {
    signal,
    holds: () => !signal.aborted,
  });
  return {
    signal,
    lines,
    counted: async (outcome: string) => {
      const counter = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'webcapture_tasks_total');
      const value = counter?.values.find(({ labels }) => labels['kind'] === 'expiry' && labels['outcome'] === outcome);
      return value?.value ?? 0;
    },
    /** Returns whether the work ended immediately, before any response or timer. */
    async stop(): Promise<boolean> {
      let ended = false;
      void done.then(() => (ended = true));
      aborter.abort(new Error('the term is over'));
      await setImmediate();
      const atOnce = ended;
      await done;
      return atOnce;
    },
  };
}

test('tasks are run, acknowledged and counted, with limited concurrency', async () => {
  const tasks = new Tasks(nats.session);
  const wanted = Array.from({ length: 12 }, newTask);
  let running = 0;
  let most = 0;
  const done: string[] = [];
  const { promise: full, resolve } = Promise.withResolvers<void>();
  const leader = lead(async ({ uuid }) => {
    most = Math.max(most, ++running);
    if (running === 3) resolve();
    await full;
    await new Promise((resolve) => setTimeout(resolve, 20));
    running--;
    done.push(uuid);
  }, 3);
  await Promise.all(wanted.map((task) => tasks.publish(task)));
  await until('all to be done', async () => (await left()) === 0);
  await until('all to be counted', async () => (await leader.counted('done')) === 12);
  expect(done.toSorted()).toEqual(wanted.map(({ uuid }) => uuid).toSorted());
  expect(most).toBe(3);
  expect(await leader.counted('failed')).toBe(0);
  expect(await leader.stop()).toBe(true);
});

test('slow tasks of one account do not delay those of others, and all tasks are done', async () => {
  const tasks = new Tasks(nats.session);
  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const done: string[] = [];
  let slow = 0;
  const leader = lead(async ({ account }) => {
    if (account === 'slow') {
      if (slow >= 2) throw new TaskDeferredError('the account has its share', 500);
      slow++;
      await released.finally(() => slow--);
    }
    done.push(account);
  }, 3);
  for (let index = 0; index < 6; index++) await tasks.publish({ ...newTask(), account: 'slow' });
  await tasks.publish({ ...newTask(), account: 'quick' });
  await until('the other account to have its turn', () => done.includes('quick'));
  expect(done).toEqual(['quick']);
  release();
  await until('the rest', async () => (await left()) === 0);
  expect(done).toHaveLength(7);
  expect(await leader.counted('failed')).toBe(0);
  await leader.stop();
});

test('a task that failed is redelivered', { tags: 'long' }, async () => {
  let tries = 0;
  const leader = lead(async () => {
    if (++tries === 1) throw new Error('the store is unavailable');
  });
  await new Tasks(nats.session).publish(newTask());
  await until('the failure', async () => (await leader.counted('failed')) === 1);
  expect(await left()).toBe(1);
  expect(leader.lines.find(({ level }) => level === 'warn')?.message).toBe('task failed; retrying');
  await until('it to be done', async () => (await left()) === 0);
  expect(tries).toBe(2);
  await leader.stop();
});

test('an invalid task message is acknowledged and logged as an error', async () => {
  const run = async () => Promise.reject(new Error('must not be called'));
  const leader = lead(run);
  const garbage = ['', 'x', '[]', 'null', '{"kind":"expiry"}', '{"kind":"expiry","account":"a b","uuid":"u"}'];
  for (const text of garbage) await nats.session.js.publish(taskSubject('expiry', 'a.b.0'), text);
  await until('all to be gone', async () => (await left()) === 0);
  const errors = leader.lines.filter(({ level }) => level === 'error');
  expect(errors.map(({ message }) => message)).toEqual(garbage.map(() => 'invalid task message'));
  expect(await leader.counted('failed')).toBe(0);
  await leader.stop();
});

test('the end of a term ends the waiting at once, and later tasks are done by the next leader', async () => {
  const never = lead(async () => Promise.reject(new Error('must not be called')));
  await until('the request of all workers to wait on the server', async () => {
    const { num_waiting } = await nats.session.jsm.consumers.info(streamNames.tasks, taskDurable('expiry'));
    return num_waiting >= 1;
  });
  expect(await never.stop()).toBe(true);
  const wanted = Array.from({ length: 4 }, newTask);
  for (const task of wanted) await new Tasks(nats.session).publish(task);
  const done = new Set<string>();
  const next = lead(async ({ uuid }) => void done.add(uuid));
  await until('all to be done', async () => (await left()) === 0);
  expect([...done].toSorted()).toEqual(wanted.map(({ uuid }) => uuid).toSorted());
  await next.stop();
});

test('a task that is running when the term ends is completed', async () => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  let begun = false;
  const leader = lead(async () => {
    begun = true;
    await goOn;
  });
  await new Tasks(nats.session).publish(newTask());
  await until('the task to begin', () => begun);
  const stopping = leader.stop();
  resolve();
  await stopping;
  expect([await leader.counted('done'), await left()]).toEqual([1, 0]);
});

test('tasks wait while there is no leader, and the next leader does them in any order', async () => {
  const tasks = new Tasks(nats.session);
  const [late, due] = [newTask(), newTask()];
  await tasks.schedule(due, Date.now() + 300);
  await tasks.publish(late);
  await until('both to be due', async () => {
    const { state } = await nats.session.jsm.streams.info(streamNames.tasks, { subjects_filter: 'tasks.>' });
    return Object.keys(state.subjects ?? {}).length === 2;
  });
  const done = new Set<string>();
  const leader = lead(async ({ uuid }) => void done.add(uuid));
  await until('both to be done', async () => (await left()) === 0);
  expect(done).toEqual(new Set([late.uuid, due.uuid]));
  await leader.stop();
});

test('a long term does not accumulate listeners', async () => {
  const leader = lead(async () => undefined, 1);
  const tasks = new Tasks(nats.session);
  for (let round = 0; round < 15; round++) await tasks.publish(newTask());
  await until('all to be done', async () => (await leader.counted('done')) === 15);
  expect(getEventListeners(leader.signal, 'abort').length).toBeLessThanOrEqual(1);
  await leader.stop();
});

test('a server that is killed while tasks run loses no task', { tags: 'long' }, async () => {
  const tasks = new Tasks(nats.session);
  const wanted = Array.from({ length: 20 }, newTask);
  for (const task of wanted) await tasks.publish(task);
  const done = new Set<string>();
  const leader = lead(async ({ uuid }) => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    done.add(uuid);
  }, 1);
  await until('some to be done', () => done.size > 3);
  await nats.restart();
  await until('all to be done', () => done.size === wanted.length);
  await leader.stop();
});

test('a missing right to pull is logged once, not at every attempt', async () => {
  const dataDir = await mkdtemp(join(inject('tempFolder'), 'nats-'));
  const permissions = { publish: { allow: ['$JS.ACK.>'] } };
  const users = [
    { user: 'admin', password: 'admin' },
    { user: 'controller', password: 'controller', permissions },
  ];
  const config = `authorization: ${JSON.stringify({ users })}`;
  const server = await startNats({ dataDir, toolPath: inject('tools').natsServer, config });
  const signal = AbortSignal.timeout(30_000);
  const login = { user: 'controller', password: 'controller' };
  const session = await connectNats({ url: server.url, name: 'controller', log: silentLog, signal, ...login });
  const leader = lead(async () => undefined, 32, new PullInbox(session));
  try {
    await until('the log to tell', () => leader.lines.length > 0);
    // Meanwhile there are further attempts.
    const { outMsgs } = session.nc.stats();
    await until('more attempts', () => session.nc.stats().outMsgs >= outMsgs + 2);
    expect(leader.lines).toEqual([
      {
        level: 'warn',
        message: 'pulling messages from a consumer failed; retrying',
        err: expect.any(PermissionViolationError) as Error,
        stream: 'TASKS',
        durable: 'tasks-expiry',
      },
    ]);
  } finally {
    await leader.stop();
    await session.nc.close();
    await server.process.stop({ graceMs: 0 });
    await rm(dataDir, { recursive: true, force: true });
  }
});
