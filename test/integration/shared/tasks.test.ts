import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames, taskDurable, type TaskKind } from '@webcapture/shared/nats/streams.ts';
import { parseTask, Tasks, type Task } from '@webcapture/shared/queue/tasks.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { pullOne } from '../../harness/pull-one.ts';
import { until } from '../../harness/until.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const next = async (kind: TaskKind, waitMs: number): Promise<Task | null> => {
  const message = await pullOne(nats.session.nc, streamNames.tasks, taskDurable(kind), waitMs);
  await message?.ack();
  return message === null ? null : parseTask(message.data);
};
const waiting = async () => (await nats.session.jsm.streams.info(streamNames.tasks)).state.messages;
const uuid = '01a1fd8a-28f4-7407-b5a7-118e86daad01';
const expiry = { kind: 'expiry', account: 'a', uuid } as const;
const refresh = { kind: 'refresh', account: 'a', uuid } as const;

test('a published task is delivered at once', async () => {
  const tasks = new Tasks(nats.session);
  await tasks.publish(expiry);
  expect(await next('refresh', 0)).toBeNull();
  expect(await next('expiry', 20_000)).toEqual(expiry);
  expect(await next('expiry', 0)).toBeNull();
});

test('a scheduled task is delivered at its time, not before, and then removed', { tags: 'long' }, async () => {
  const tasks = new Tasks(nats.session);
  const at = Date.now() + 1500;
  await tasks.schedule(refresh, at);
  expect(await next('refresh', 20_000)).toEqual(refresh);
  expect(Date.now()).toBeGreaterThanOrEqual(at);
  expect(await waiting()).toBe(0);
});

test('a task whose time has passed is delivered at once', async () => {
  await new Tasks(nats.session).schedule(expiry, Date.now() - 60_000);
  expect(await next('expiry', 20_000)).toEqual(expiry);
});

test('a task that is scheduled again is delivered once, at the later time', async () => {
  const tasks = new Tasks(nats.session);
  await tasks.schedule(refresh, Date.now() + 2500);
  const at = Date.now() + 4000;
  await tasks.schedule(refresh, at);
  expect(await next('refresh', 20_000)).toEqual(refresh);
  expect(Date.now()).toBeGreaterThanOrEqual(at);
  expect(await waiting()).toBe(0);
});

test('each webhook event is a separate task', async () => {
  const tasks = new Tasks(nats.session);
  const notice = {
    kind: 'webhook',
    account: 'a',
    uuid,
    event: 'capture.completed',
    occurredAt: 1,
    attempt: 1,
    receiver: 'hooks.example',
  } as const;
  const events = [0, 1].map((revision): Task => ({ ...notice, revision, firstAt: 1 }));
  await Promise.all(events.map((event) => tasks.schedule(event, Date.now() + 300)));
  const told = [await next('webhook', 20_000), await next('webhook', 20_000)];
  expect(told.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual(events);
});

test(
  'scheduled tasks are delivered after the server was killed, even if their time passed meanwhile',
  { tags: 'long' },
  async () => {
    const tasks = new Tasks(nats.session);
    const [soon, later] = [
      { ...expiry, account: 'soon' },
      { ...expiry, account: 'later' },
    ];
    await tasks.schedule(soon, Date.now() + 200);
    await tasks.schedule(later, Date.now() + 4000);
    await nats.restart();
    const told: (string | undefined)[] = [];
    await until('both tasks', async () => {
      const task = await next('expiry', 500).catch(() => null);
      if (task !== null) told.push(task.account);
      return told.length === 2;
    });
    expect(new Set(told)).toEqual(new Set(['soon', 'later']));
  },
);
