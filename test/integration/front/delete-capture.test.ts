import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { captureKey } from '@webcapture/shared/captures/captures.ts';
import { queuedJobs, taskDueAt } from '../../harness/queues.ts';
import { until } from '../../harness/until.ts';
import { send } from './accounts.ts';
import {
  completeJobs,
  fileStatus,
  holdJobs,
  openHolder,
  startBackgroundFront,
  tasksOf,
  type Holder,
} from './background.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
let other: string;
let release = () => undefined as void;
beforeAll(async () => {
  front = await startBackgroundFront();
  other = await front.addFront();
});
afterAll(() => front[Symbol.asyncDispose]());
afterEach(() => {
  release();
  completeJobs(front.renderer);
});

const cached = { responseCache: { enabled: true, ttl: 3600 } };
const isPulled = (uuid: string) => front.renderer.jobs.some((job) => job.uuid === uuid);

const queued = async () => (await front.nats.session.jsm.streams.info(streamNames.captures)).state.messages;

async function completed(holder: Holder, body: object = {}) {
  const { uuid } = await holder.queue(body);
  return { uuid, state: await holder.until(uuid, 'completed') };
}

/** Fills both slots, so that later captures stay in the queue. */
async function fillSlots(holder: Holder): Promise<void> {
  release = holdJobs(front.renderer);
  const taken = [await holder.queue(), await holder.queue()];
  await until('both slots to be taken', () => taken.every(({ uuid }) => isPulled(uuid)));
}

/** Returns the TTL of the capture's record. */
async function recordTtl(holder: Holder, uuid: string): Promise<string | undefined> {
  const subject = `$KV.db.${captureKey(holder.account, uuid)}`;
  const message = await front.nats.session.jsm.streams.getMessage(streamNames.db, { last_by_subj: subject });
  return message?.header?.get('Nats-TTL');
}

describe('a waiting capture', () => {
  test('is cancelled: it is never rendered and costs nothing', async () => {
    const filler = await openHolder(front);
    const holder = await openHolder(front);
    await fillSlots(filler);
    const { uuid } = await holder.queue();
    expect(await holder.usage()).toMatchObject({ reserved: 1, queued: 1 });
    const answer = await holder.remove(uuid);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body.data).toMatchObject({ uuid, status: 'deleted', tokenCost: 0 });
    expect(await holder.usage()).toEqual({ tokens: 0, captures: 0, reserved: 0, queued: 0 });
    expect(await recordTtl(holder, uuid)).toBe('7776000s');
    release();
    await until('the job to have been looked at', () => isPulled(uuid));
    await until('the queue to be empty', async () => (await queued()) === 0);
    expect(await holder.state(uuid)).toEqual(answer.body.data);
    expect(await holder.tokensUsed()).toBe(0);
    expect(await fileStatus(front, { fileUrl: `https://cdn.test/${(await holder.record(uuid)).fileName}` })).toBe(404);
  });

  test('that a client waits for cannot be deleted before it ends', async () => {
    const filler = await openHolder(front);
    const holder = await openHolder(front);
    await fillSlots(filler);
    const waiting = holder.capture({ background: false });
    const { uuid } = await until('its job', async () => {
      const jobs = await queuedJobs(front.nats.session);
      return jobs.find(({ account }) => account === holder.account);
    });
    const { status, body } = await holder.remove(uuid);
    expect([status, body.error?.code]).toEqual([404, 'CAPTURE_NOT_FOUND']);
    release();
    expect((await waiting).body.data).toMatchObject({ uuid, status: 'completed' });
    expect(await holder.tokensUsed()).toBe(1);
    expect((await holder.remove(uuid)).body.data).toMatchObject({ uuid, status: 'deleted' });
  });
});

test('deleting a capture in rendering is a conflict, and the message says when it is possible', async () => {
  const holder = await openHolder(front);
  release = holdJobs(front.renderer, { begun: true });
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'rendering');
  const { status, body } = await holder.remove(uuid);
  expect([status, body.error?.code]).toEqual([409, 'CONFLICT']);
  expect(body.error?.message).toMatch(/being rendered.*when it has ended/);
  release();
  await holder.until(uuid, 'completed');
  expect((await holder.remove(uuid)).status).toBe(200);
});

describe('a completed capture that is deleted', () => {
  test('is gone at once on every front, but stays charged and listed', async () => {
    const holder = await openHolder(front);
    const body = { ...cached, url: 'https://example.com/gone' };
    await completed(holder, body);
    // A capture completes shortly before it is cached, so an earlier request would render its own capture.
    const uuid = await until('hits on both fronts', async () => {
      const hits = [await holder.capture(body), await holder.capture(body, other)].map(({ body: { data } }) => data);
      const [first, second] = hits.map((hit) => (hit?.['fromCache'] === true ? hit['uuid'] : undefined));
      return typeof first === 'string' && first === second && first;
    });
    const state = await holder.state(uuid);
    expect(await fileStatus(front, state)).toBe(200);
    const answer = await holder.remove(uuid, other);
    expect(answer.body.data).toEqual({ ...state, status: 'deleted' });
    expect(await fileStatus(front, state)).toBe(404);
    expect((await holder.capture(body, other)).body.data).toMatchObject({ status: 'queued', fromCache: false });
    await until('the other front to know', async () => (await holder.capture(body)).body.data?.['uuid'] !== uuid, {
      deadlineMs: 1000,
    });
    expect(await holder.state(uuid)).toMatchObject({ status: 'deleted', tokenCost: 1 });
    expect((await holder.usage()).tokens).toBeGreaterThanOrEqual(1);
    expect(await recordTtl(holder, uuid)).toBe('7776000s');
    // The leader acts immediately, and checks again soon in case this front has died. It does not wait for the expiry of the capture.
    const tasks = (await tasksOf(front, uuid)).filter((task) => task.includes('expiry'));
    const name = `expiry.${holder.account}.${uuid}.0`;
    expect(tasks.toSorted()).toEqual([`later.${name}`, `tasks.${name}`]);
    const dueAt = (await taskDueAt(front.nats.session, 'expiry', { account: holder.account, uuid })) ?? Infinity;
    expect(dueAt - Date.now()).toBeLessThanOrEqual(20_000);
  });

  test('is not refreshed any more, and a waiting refresh releases its reservation', async () => {
    const holder = await openHolder(front);
    const { uuid, state } = await completed(holder);
    release = holdJobs(front.renderer);
    expect((await holder.refresh(uuid)).body.data).toMatchObject({ refresh: { state: 'queued' } });
    expect(await holder.usage()).toMatchObject({ tokens: 1, reserved: 1, queued: 1 });
    expect((await holder.remove(uuid)).status).toBe(200);
    expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
    const isAsked = () => front.renderer.jobs.some((job) => job.uuid === uuid && job.revision === 1);
    await until('the refresh to be looked at', isAsked);
    release();
    await until('the queue to be empty', async () => (await queued()) === 0);
    expect(await holder.state(uuid)).toMatchObject({ status: 'deleted' });
    expect(await fileStatus(front, state)).toBe(404);
    expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
    expect((await holder.refresh(uuid)).status).toBe(409);
  });
});

test('a failed capture can be deleted', async () => {
  const holder = await openHolder(front);
  front.renderer.behavior = (job, self) => self.fail(job, 'NAVIGATION_FAILED', 'No.');
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'failed');
  expect((await holder.remove(uuid)).body.data).toMatchObject({ status: 'deleted', tokenCost: 0 });
});

test('repeated deletions get equal answers, also concurrently and on another front', async () => {
  const holder = await openHolder(front);
  const { uuid } = await completed(holder);
  const answers = await Promise.all([holder.remove(uuid), holder.remove(uuid, other), holder.remove(uuid)]);
  answers.push(await holder.remove(uuid, other));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const { body } of answers) expect(body).toEqual(answers[0]?.body);
  expect(await holder.usage()).toMatchObject({ tokens: 1, captures: 1 });
});

describe('the front refuses', () => {
  test.each(['remove', 'refresh'] as const)("%s of another account's capture, and of a missing one", async (action) => {
    const [holder, other] = [await openHolder(front), await openHolder(front)];
    const { uuid } = await completed(holder);
    const nobodys = '01a1fd8a-28f4-7407-b5a7-118e86daad01';
    for (const answer of [await other[action](uuid), await holder[action](nobodys)]) {
      expect([answer.status, answer.body.error?.code]).toEqual([404, 'CAPTURE_NOT_FOUND']);
    }
    expect(await holder.state(uuid)).toMatchObject({ status: 'completed' });
  });

  test.each([
    ['DELETE', ''],
    ['POST', '/refresh'],
  ])('%s%s without the scope or without a key', async (method, path) => {
    const holder = await openHolder(front);
    const { uuid } = await completed(holder);
    const reader = await front.makeKey({ account: holder.account, scopes: ['read'] });
    const url = `${front.url}/captures/${uuid}${path}`;
    expect((await send(url, reader, { method })).body.error?.code).toBe('FORBIDDEN');
    expect((await send(url, null, { method })).body.error?.code).toBe('UNAUTHORIZED');
    expect(await holder.state(uuid)).toMatchObject({ status: 'completed' });
  });
});

test.each([
  ['DELETE', ''],
  ['POST', '/refresh'],
])('%s%s needs no body, for any content type', async (method, path) => {
  const holder = await openHolder(front);
  const { uuid } = await completed(holder);
  const headers = { authorization: `Bearer ${holder.key}`, 'content-type': 'application/json' };
  const response = await fetch(`${front.url}/captures/${uuid}${path}`, { method, headers });
  expect(response.status).toBe(200);
});
