// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobMaxDeliveries, resultSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { returnReasons, type ReturnReason } from '@webcapture/shared/queue/outcomes.ts';
import { ticketOf } from '@webcapture/shared/queue/tickets.ts';
import { taskDueAt } from '../../harness/queues.ts';
import { resultOf, SettlingParts } from '../../harness/settling.ts';
import { until } from '../../harness/until.ts';
import type { Behavior } from '../../harness/stand-in-renderer.ts';
import { openHolder, startBackgroundFront, type Holder } from './background.ts';
import { read, type TestFront } from './test-front.ts';

/** Renderer behaviors by account: the tests of this file run concurrently, since one of them mostly waits. */
const behaviors = new Map<string, Behavior>();

let front: TestFront;
beforeAll(async () => {
  front = await startBackgroundFront();
  front.renderer.behavior = (job, renderer) => behaviors.get(job.account)?.(job, renderer) ?? renderer.complete(job);
});
afterAll(() => front[Symbol.asyncDispose]());

/** Opens an account whose jobs the renderer returns `times` times each before it completes them. */
async function openReturned(reason: ReturnReason, times: number): Promise<Holder> {
  const holder = await openHolder(front);
  const given = new Map<string, number>();
  behaviors.set(holder.account, async (job, renderer) => {
    const count = (given.get(job.uuid) ?? 0) + 1;
    given.set(job.uuid, count);
    if (count <= times) await renderer.publish(job, { kind: 'returned', reason });
    else await renderer.complete(job);
  });
  return holder;
}

const jobsOf = (uuid: unknown) => front.renderer.jobs.filter((job) => job.uuid === uuid);

/** Returns 1 if unsettled results of the capture exist, else 0. */
async function unsettledOf(uuid: string): Promise<number> {
  const filter = { subjects_filter: resultSubject('us-east', uuid) };
  const { state } = await front.nats.session.jsm.streams.info(streamNames.results, filter);
  return Object.keys(state.subjects ?? {}).length;
}

async function expectOneCharge(holder: Holder): Promise<void> {
  expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
}

async function interactive(holder: Holder): Promise<unknown> {
  const { status, body } = await read(
    await front.capture({ url: 'https://example.com/' }, { key: holder.key, signal: AbortSignal.timeout(55_000) }),
  );
  expect([status, body.error]).toEqual([200, null]);
  return body.data?.['uuid'];
}

// This test must be the first one, because the sequence of its first result must equal the number of the first attempt.
test('a returned background job is queued again each time, and charged once', async () => {
  const holder = await openReturned('shutting_down', 2);
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'completed');
  expect(front.renderer.jobs.map((job) => job.uuid)).toEqual([uuid, uuid, uuid]);
  await expectOneCharge(holder);
});

/** Reasons after which a returned job is queued again immediately. */
const queuedAtOnce = returnReasons.filter((reason) => reason !== 'unknown_version' && reason !== 'store_unavailable');

// This test starts first among the concurrent ones, because each return takes two seconds.
test.concurrent(
  'jobs of a version unknown to renderers are returned eleven times, and complete once a renderer knows it',
  async () => {
    const times = 11;
    const waiting = await openReturned('unknown_version', times);
    const background = await openReturned('unknown_version', times);
    const answer = interactive(waiting);
    const { uuid } = await background.queue();
    expect(jobsOf(await answer)).toHaveLength(times + 1);
    // No leader repeats signals in this test. A lost signal would be made up for after a minute.
    await until('the background capture', async () => (await background.record(uuid)).status === 'completed', {
      deadlineMs: 40_000,
    });
    expect(jobsOf(uuid)).toHaveLength(times + 1);
    await expectOneCharge(waiting);
    await expectOneCharge(background);
  },
);

test.concurrent.each(queuedAtOnce)(
  'an interactive job returned for %s more often than the delivery limit completes, charged once',
  async (reason) => {
    const times = jobMaxDeliveries + 2;
    const holder = await openReturned(reason, times);
    expect(jobsOf(await interactive(holder))).toHaveLength(times + 1);
    await expectOneCharge(holder);
  },
);

test.concurrent.each(queuedAtOnce)(
  'a background job returned for %s more often than the delivery limit is queued again by any front',
  async (reason) => {
    const times = jobMaxDeliveries + 2;
    const holder = await openReturned(reason, times);
    const { uuid } = await holder.queue();
    await holder.until(uuid, 'completed');
    expect(jobsOf(uuid)).toHaveLength(times + 1);
    await expectOneCharge(holder);
  },
);

test.concurrent('a job that one renderer returns twenty times is queued again once', async () => {
  const holder = await openHolder(front);
  let isFirst = true;
  behaviors.set(holder.account, async (job, renderer) => {
    if (!isFirst) return renderer.complete(job);
    isFirst = false;
    for (let time = 0; time < 20; time++) await renderer.publish(job, { kind: 'returned', reason: 'no_free_slot' });
  });
  const { uuid } = await holder.queue();
  await holder.until(uuid, 'completed');
  await until('all that it said to be settled', async () => (await unsettledOf(uuid)) === 0);
  expect(jobsOf(uuid)).toHaveLength(2);
  isFirst = true;
  expect(jobsOf(await interactive(holder))).toHaveLength(2);
  expect(await holder.usage()).toEqual({ tokens: 2, captures: 2, reserved: 0, queued: 0 });
});

test.concurrent(
  'the leader queues a job again after increasing delays if the store failed, and ignores returns of earlier attempts',
  async () => {
    const holder = await openHolder(front);
    behaviors.set(holder.account, async () => undefined);
    const { uuid } = await holder.queue();
    const taken = await until('the job', () => jobsOf(uuid)[0]);
    const { session } = front.nats;
    const { tickets } = new SettlingParts(session);
    const give = async (attempt: number) => {
      const ticket = await tickets.sign({ ...ticketOf(taken), attempt });
      const result = resultOf({ ticket }, { kind: 'returned', reason: 'store_unavailable' });
      await session.js.publish(resultSubject('us-east', uuid), JSON.stringify(result));
    };
    const dueIn = async () =>
      ((await taskDueAt(session, 'dispatch', { account: holder.account, uuid })) ?? 0) - session.now();
    for (const [attempt, delayMs] of [
      [1, 5000],
      [2, 10_000],
      [3, 20_000],
      [9, 300_000],
      // A late return from a renderer that was disconnected meanwhile.
      [2, 300_000],
    ] as const) {
      await give(attempt);
      await until('it to be settled', async () => (await unsettledOf(uuid)) === 0);
      const inMs = await dueIn();
      expect(inMs).toBeLessThanOrEqual(delayMs);
      expect(inMs).toBeGreaterThan(delayMs * 0.75 - 2000);
    }
    expect(await holder.record(uuid)).toMatchObject({ status: 'queued', attempt: 10 });
    expect(jobsOf(uuid)).toHaveLength(1);
  },
);

test.concurrent('a background capture and a refresh are queued again if returned while rendering', async () => {
  const holder = await openHolder(front);
  let release = () => undefined as void;
  const hold = () => {
    const released = new Promise<void>((resolve) => (release = resolve));
    let isFirst = true;
    behaviors.set(holder.account, async (job, renderer) => {
      if (!isFirst) {
        await released;
        return renderer.complete(job);
      }
      isFirst = false;
      renderer.begin(job);
      const isRendering = async () => {
        const record = await holder.record(job.uuid);
        return (job.revision === 0 ? record.status : record.refresh?.state) === 'rendering';
      };
      await until('it to be rendered', isRendering);
      await renderer.publish(job, { kind: 'returned', reason: 'shutting_down' });
    });
  };
  hold();
  const { uuid } = await holder.queue();
  await until('the second delivery', () => jobsOf(uuid).length === 2);
  expect((await holder.record(uuid)).status).toBe('queued');
  release();
  await holder.until(uuid, 'completed');

  hold();
  await holder.refresh(uuid);
  await until('the second delivery of the refresh', () => jobsOf(uuid).length === 4);
  expect((await holder.record(uuid)).refresh?.state).toBe('queued');
  release();
  await until('its end', async () => (await holder.record(uuid)).refresh?.state === 'completed');
  expect(await holder.usage()).toEqual({ tokens: 2, captures: 2, reserved: 0, queued: 0 });
});
