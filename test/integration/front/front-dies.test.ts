// @module-tag long
import { JetStreamApiError } from '@nats-io/jetstream';
import { TimeoutError } from '@nats-io/nats-core';
import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { laterSubject, streamNames } from '@webcapture/shared/nats/streams.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { parseTask, Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { storeHtml, removeHtml, readHtml } from '@webcapture/shared/files/stored-html.ts';
import { recoverLostJob } from '../../../services/controller/recovery/lost-jobs.ts';
import type { AcceptedRequest } from '../../../services/front/capture/accept-request.ts';
import { BackgroundQueue, type BackgroundQueueDeps } from '../../../services/front/capture/background-queue.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { defaultOptions } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { completeJobs, openHolder, startBackgroundFront, wide, type Holder } from './background.ts';
import type { TestFront } from './test-front.ts';

let front: TestFront;
beforeAll(async () => {
  front = await startBackgroundFront();
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => completeJobs(front.renderer));

const never = () => new Promise<never>(() => undefined);
const request: AcceptedRequest = {
  source: { kind: 'url', url: 'https://example.com/' },
  options: defaultOptions,
  region: 'auto',
  priority: 'background',
  tokenCost: 1,
  lifetimeMs: 60_000,
  persistence: undefined,
  webhookUrl: undefined,
};

/** Returns the background queue of another front, with some parts replaced by broken ones. */
function queueOf(session: NatsSession, broken: Partial<BackgroundQueueDeps>): BackgroundQueue {
  return new BackgroundQueue({
    captures: new Captures(session),
    jobs: new Jobs(session, new Tickets(session)),
    tasks: new Tasks(session),
    regions: fake({ choose: async () => 'us-east' }),
    htmlStore: {
      put: (address, html, expiresAt) => storeHtml(session, address, html, expiresAt),
      remove: (name) => removeHtml(session, name),
    },
    now: session.now,
    log: silentLog,
    ...broken,
  });
}

/** Ignores the error of a call whose front dies. */
const unheard = (call: Promise<unknown>) => void call.catch(() => undefined);

/** Returns the dispatch task of a capture, which must be due in some seconds. */
async function guardOf(account: string, uuid: string, revision = 0) {
  const subject = laterSubject('dispatch', `${account}.${uuid}.${revision}`);
  const message = await front.nats.session.jsm.streams.getMessage(streamNames.tasks, { last_by_subj: subject });
  if (message === null) throw new Error('there is no guard');
  const at = Date.parse((message.header?.get('Nats-Schedule') ?? '').replace('@at ', ''));
  expect(at - Date.now()).toBeGreaterThan(5000);
  expect(at - Date.now()).toBeLessThan(30_000);
  const task = parseTask(message.data);
  if (task.kind !== 'dispatch') throw new Error('the guard is something else');
  return task;
}

/** Runs a dispatch task twice, as a leader that dies in between would. */
async function dispatch(task: Parameters<typeof recoverLostJob>[0]): Promise<void> {
  const { session } = front.nats;
  for (let run = 0; run < 2; run++) {
    await recoverLostJob(task, {
      captures: new Captures(session),
      jobs: new Jobs(session, new Tickets(session)),
      // The guard is not postponed, so that a test can read it again.
      tasks: fake({ schedule: async () => undefined }),
      failCapture: () => Promise.reject(new Error('nothing is overdue')),
      followUps: fake({ schedule: async () => undefined }),
    });
  }
}

const rendered = (uuid: string) => front.renderer.jobs.filter((job) => job.uuid === uuid).map((job) => job.revision);
const once = { tokens: 1, captures: 1, reserved: 0, queued: 0 };
const recordOf = (holder: Holder, uuid: string) => until('its record', () => holder.record(uuid));

describe('a front that dies', () => {
  test('between record and job: the capture is rendered once and charged once', async () => {
    const holder = await openHolder(front);
    const session = await front.nats.connect();
    const uuid = randomUUIDv7();
    unheard(queueOf(session, { jobs: fake({ publish: never }) }).enqueue(request, { uuid, account: holder.account }));
    await recordOf(holder, uuid);
    await session.nc.close();
    expect(await holder.usage()).toMatchObject({ reserved: 1, queued: 1 });
    await dispatch(await guardOf(holder.account, uuid));
    await holder.until(uuid, 'completed');
    expect(await holder.usage()).toEqual(once);
    await dispatch({ account: holder.account, uuid, revision: 0 });
    expect(rendered(uuid)).toEqual([0]);
  });

  test('between queueing the job and postponing its guard: the capture is rendered once', async () => {
    const holder = await openHolder(front);
    const uuid = randomUUIDv7();
    const tasks = new Tasks(front.nats.session);
    let scheduled = 0;
    const schedule: Tasks['schedule'] = (task, at, deadline) =>
      scheduled++ === 0 ? tasks.schedule(task, at, deadline) : never();
    const queue = queueOf(front.nats.session, { tasks: fake({ schedule }) });
    await queue.enqueue(request, { uuid, account: holder.account });
    await dispatch(await guardOf(holder.account, uuid));
    await holder.until(uuid, 'completed');
    await dispatch({ account: holder.account, uuid, revision: 0 });
    // Both queues were read again when a later capture has ended.
    await holder.until((await holder.queue()).uuid, 'completed');
    expect(rendered(uuid)).toEqual([0]);
    expect(await holder.usage()).toMatchObject({ tokens: 2, queued: 0 });
  });

  test('between a refresh and its job: the refresh is rendered once and charged once', async () => {
    const holder = await openHolder(front);
    const { uuid } = await holder.queue();
    await holder.until(uuid, 'completed');
    const session = await front.nats.connect();
    unheard(queueOf(session, { jobs: fake({ publish: never }) }).enqueueRefresh(await holder.record(uuid), 'us-east'));
    await until('the refresh', async () => (await holder.record(uuid)).refresh?.state === 'queued');
    await session.nc.close();
    await dispatch(await guardOf(holder.account, uuid, 1));
    await until('its end', async () => (await holder.record(uuid)).refresh?.state === 'completed');
    expect(rendered(uuid)).toEqual([0, 1]);
    expect(await holder.usage()).toEqual({ tokens: 2, captures: 2, reserved: 0, queued: 0 });
  });

  test('between guard and record: nothing is rendered or charged', async () => {
    const holder = await openHolder(front);
    const uuid = randomUUIDv7();
    const captures = { create: never, change: never, fail: never };
    unheard(
      queueOf(front.nats.session, { captures: fake(captures) }).enqueue(request, { uuid, account: holder.account }),
    );
    await dispatch(await until('its guard', () => guardOf(holder.account, uuid)));
    expect(await holder.usage()).toMatchObject({ reserved: 0, queued: 0 });
    expect(rendered(uuid)).toEqual([]);
  });
});

describe('the reservation of a front that has died', () => {
  const admit = async (holder: Holder, id: string, until: number, limits: object) => {
    const usage = new AccountUsage(front.nats.session);
    const limiter = new Limiter(front.nats.session, usage);
    const place = { id, tokens: 1, priority: 'background', until } as const;
    expect((await limiter.admit(holder.account, { ...wide, ...limits }, place)).refused).toBeNull();
  };

  test('before it wrote the record expires, and then does not block captures', async () => {
    const limits = { maxQueued: 1, tokenQuota: 1 };
    const holder = await openHolder(front, limits);
    const lapses = Date.now() + 1500;
    await admit(holder, randomUUIDv7(), lapses, limits);
    const refusals = new Set<number>();
    await until('it to have lapsed', async () => {
      const { status } = await holder.capture();
      if (status !== 200) refusals.add(status);
      return status === 200;
    });
    expect(Date.now()).toBeGreaterThanOrEqual(lapses);
    for (const status of refusals) expect([402, 429]).toContain(status);
  });

  test('after it wrote the record is not counted twice', async () => {
    const limits = { maxQueued: 2, tokenQuota: 2 };
    const holder = await openHolder(front, limits);
    front.renderer.behavior = async () => undefined;
    const { uuid } = await holder.queue();
    await admit(holder, uuid, Date.now() + 60_000, limits);
    expect((await holder.capture()).status).toBe(200);
    expect((await holder.capture()).body.error?.code).toMatch(/QUOTA_EXCEEDED|QUEUE_FULL/);
  });
});

describe('the answer to the client matches the outcome', () => {
  const enqueue = (holder: Holder, uuid: string, broken: Partial<BackgroundQueueDeps>, more: object = {}) =>
    queueOf(front.nats.session, broken).enqueue({ ...request, ...more }, { uuid, account: holder.account });

  test('if the queue is full, the capture is refused and no reservation remains', async () => {
    const holder = await openHolder(front);
    const uuid = randomUUIDv7();
    const full = new JetStreamApiError({ code: 503, err_code: 10_077, description: 'maximum bytes exceeded' });
    let tries = 0;
    const publish = () => {
      tries++;
      return Promise.reject(full);
    };
    const refused = enqueue(holder, uuid, { jobs: fake({ publish }) });
    await expect(refused).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    expect(tries).toBe(1);
    await until('the record to say so', async () => (await holder.record(uuid)).status === 'failed');
    expect(await holder.usage()).toMatchObject({ tokens: 0, reserved: 0, queued: 0 });
  });

  test('if the queue is unreachable, the capture is accepted and left to the leader', async () => {
    const holder = await openHolder(front);
    const uuid = randomUUIDv7();
    const record = await enqueue(holder, uuid, { jobs: fake({ publish: () => Promise.reject(new TimeoutError()) }) });
    expect(record.status).toBe('queued');
    await dispatch(await guardOf(holder.account, uuid));
    await holder.until(uuid, 'completed');
  });

  test('if the record is not confirmed, the capture is refused and failed, and its HTML is removed', async () => {
    const holder = await openHolder(front);
    const uuid = randomUUIDv7();
    const captures = new Captures(front.nats.session);
    const unconfirmed = {
      create: async (record: Parameters<Captures['create']>[0]) => {
        await captures.create(record);
        throw new TimeoutError();
      },
      change: captures.change.bind(captures),
      fail: captures.fail.bind(captures),
    };
    const more = {
      source: { kind: 'html', html: '<p>x</p>' },
      persistence: { refreshIntervalMs: 0 },
      lifetimeMs: 9e10,
    };
    const refused = enqueue(holder, uuid, { captures: fake(unconfirmed) }, more);
    await expect(refused).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
    await until('the record to be settled', async () => (await holder.record(uuid)).status === 'failed');
    await until('the html to be gone', () =>
      readHtml(front.nats.session, { region: 'us-east', name: uuid }).then(
        () => false,
        () => true,
      ),
    );
    await dispatch(await guardOf(holder.account, uuid));
    expect(await holder.usage()).toMatchObject({ tokens: 0, reserved: 0, queued: 0 });
    expect(rendered(uuid)).toEqual([]);
  });
});
