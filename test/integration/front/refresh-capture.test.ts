import { randomUUIDv7 } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { monthOf, periodOf } from '@webcapture/shared/captures/times.ts';
import { complete, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import type { Jobs } from '@webcapture/shared/queue/jobs.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { fake } from '../../harness/fake.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { BackgroundQueue } from '../../../services/front/capture/background-queue.ts';
import { acceptTimeoutMs } from '../../../services/front/capture/publish-job.ts';
import type { RegionSelector } from '../../../services/front/capture/regions.ts';
import { silentLog } from '../../harness/nats-session.ts';
import { completeJobs, fileStatus, holdJobs, openHolder, startBackgroundFront, type Holder } from './background.ts';
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

/** Dependencies of a BackgroundQueue apart from the records. */
const fakes = {
  now: Date.now,
  jobs: fake<Jobs>({ publish: async () => ({ sequence: 1 }) }),
  tasks: fake<Tasks>({ schedule: async () => undefined }),
  regions: fake<RegionSelector>({ choose: async () => 'us-east' }),
  htmlStore: { put: async () => undefined, remove: async () => undefined },
  log: silentLog,
};

async function completed(holder: Holder, body: object = {}) {
  const { uuid } = await holder.queue(body);
  return { uuid, state: await holder.until(uuid, 'completed') };
}

const refreshOf = async (holder: Holder, uuid: string) => (await holder.state(uuid))['refresh'];
const untilRefresh = (holder: Holder, uuid: string, state: string) =>
  until(`the refresh to be ${state}`, async () => {
    const capture = await holder.state(uuid);
    expect(capture['status']).toBe('completed');
    return (capture['refresh'] as { state: string }).state === state ? capture : null;
  });

test('a refresh is queued, rendered and charged, while the capture stays completed', async () => {
  const holder = await openHolder(front);
  const { uuid, state } = await completed(holder, { antiBot: true });
  expect(state['refresh']).toBeUndefined();
  release = holdJobs(front.renderer);
  const answer = await holder.refresh(uuid);
  expect(answer.status).toBe(200);
  expect(answer.body.data).toMatchObject({ uuid, status: 'completed', fileUrl: state['fileUrl'] });
  expect(answer.body.data?.['refresh']).toMatchObject({
    state: 'queued',
    error: null,
    endedAt: null,
    tokensCharged: 0,
  });
  expect(await holder.usage()).toEqual({ tokens: 2, captures: 1, reserved: 2, queued: 1 });
  const job = await until('its job', () =>
    front.renderer.jobs.find((each) => each.uuid === uuid && each.revision === 1),
  );
  // The refresh has a new object, which then replaces the current file.
  expect(job).toMatchObject({ priority: 'background', uuid });
  expect(job.file.object).not.toBe((await holder.record(uuid)).fileName);
  front.renderer.begin(job);
  await until('it to be rendered', async () => (await holder.record(uuid)).refresh?.state === 'rendering');
  release();
  const after = await untilRefresh(holder, uuid, 'completed');
  expect(after).toMatchObject({ tokenCost: 2, refresh: { tokensCharged: 2, error: null } });
  expect(await holder.usage()).toEqual({ tokens: 4, captures: 2, reserved: 0, queued: 0 });
  expect(await holder.tokensUsed()).toBe(4);
  expect(await holder.ledger()).toEqual(await holder.sumOfRecords());

  expect((await holder.refresh(uuid)).status).toBe(200);
  await until('the second one', async () => (await holder.tokensUsed()) === 6);
  expect(await refreshOf(holder, uuid)).toMatchObject({ state: 'completed', tokensCharged: 4 });
});

test('concurrent requests for a refresh start one refresh, charged once', async () => {
  const holder = await openHolder(front);
  const { uuid } = await completed(holder);
  release = holdJobs(front.renderer);
  const asked = Array.from({ length: 8 }, (_, index) => holder.refresh(uuid, index % 2 === 0 ? front.url : other));
  for (const { status, body } of await Promise.all(asked)) {
    expect([status, body.data?.['refresh']]).toEqual([200, expect.objectContaining({ state: 'queued' })]);
  }
  expect(await holder.usage()).toMatchObject({ reserved: 1, queued: 1 });
  release();
  await untilRefresh(holder, uuid, 'completed');
  expect(await holder.usage()).toEqual({ tokens: 2, captures: 2, reserved: 0, queued: 0 });
  expect(front.renderer.jobs.filter((job) => job.uuid === uuid).map(({ revision }) => revision)).toEqual([0, 1]);
});

test('a request based on a stale record starts no refresh after another one has ended', async () => {
  const holder = await openHolder(front);
  const { uuid } = await completed(holder);
  const stale = await holder.record(uuid);
  await holder.refresh(uuid);
  await untilRefresh(holder, uuid, 'completed');
  const published: number[] = [];
  const queue = new BackgroundQueue({
    ...fakes,
    captures: new Captures(front.nats.session),
    jobs: fake({ publish: async ({ revision }) => ({ sequence: published.push(revision) }) }),
  });
  const after = await queue.enqueueRefresh(stale, 'us-east');
  expect(after?.refresh).toMatchObject({ revision: 1, state: 'completed' });
  expect(await queue.enqueueRefresh(await holder.record(uuid), 'us-east')).toMatchObject({ refresh: { revision: 2 } });
  expect(published).toEqual([2]);
});

test('a refresh is refused within seconds if its record is unreachable', { tags: 'long' }, async () => {
  const change = () => new Promise<never>(() => undefined);
  const queue = new BackgroundQueue({
    ...fakes,
    captures: fake({ create: async () => undefined, change, fail: change }),
  });
  const start = performance.now();
  const refused = queue.enqueueRefresh(newRecord({ status: 'completed', outcome: newOutcome() }), 'us-east');
  await expect(refused).rejects.toMatchObject({ code: 'INTERNAL_ERROR', message: expect.stringContaining('again') });
  expect(performance.now() - start).toBeLessThan(acceptTimeoutMs + 10_000);
});

test('a failed refresh keeps the file, costs nothing and reports the error', async () => {
  const holder = await openHolder(front);
  const { uuid, state } = await completed(holder);
  front.renderer.behavior = (job, self) => self.fail(job, 'NAVIGATION_FAILED', 'There is no such host.');
  await holder.refresh(uuid);
  const after = await untilRefresh(holder, uuid, 'failed');
  expect(after).toMatchObject({
    fileSizeBytes: state['fileSizeBytes'],
    metadata: state['metadata'],
    refresh: { error: { code: 'NAVIGATION_FAILED', message: 'There is no such host.' }, tokensCharged: 0 },
  });
  expect(await fileStatus(front, after)).toBe(200);
  expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
  completeJobs(front.renderer);
  await holder.refresh(uuid);
  expect(await untilRefresh(holder, uuid, 'completed')).toMatchObject({ refresh: { error: null, tokensCharged: 1 } });
});

describe('a refresh is refused', () => {
  test.each(['queued', 'rendering', 'failed', 'expired', 'deleted'] as const)(
    'for a capture that is %s',
    async (status) => {
      const holder = await openHolder(front);
      const record = newRecord({
        account: holder.account,
        status,
        ...(status === 'expired' ? { outcome: newOutcome() } : {}),
      });
      await new Captures(front.nats.session).create(record);
      const answer = await holder.refresh(record.uuid);
      expect([answer.status, answer.body.error?.code]).toEqual([409, 'CONFLICT']);
      expect(answer.body.error?.message).toMatch(new RegExp(`only a completed.*this one is ${status}`, 'i'));
    },
  );

  test('for a capture whose file has expired, although its record is still completed', async () => {
    const holder = await openHolder(front);
    const record = newRecord({
      account: holder.account,
      status: 'completed',
      outcome: newOutcome(),
      expiresAt: Date.now() - 1,
    });
    await new Captures(front.nats.session).create(record);
    expect((await holder.refresh(record.uuid)).body.error?.message).toMatch(/this one is expired/);
  });

  test.each([true, false])('for HTML that is not stored, background %s', async (background) => {
    const holder = await openHolder(front);
    const { uuid } = await completed(holder, { url: undefined, html: '<p>x</p>', background });
    const { status, body } = await holder.refresh(uuid);
    expect([status, body.error?.code]).toEqual([409, 'CONFLICT']);
    expect(body.error?.message).toMatch(/html.*not stored.*persistence/i);
  });

  test('but not for stored HTML', async () => {
    const holder = await openHolder(front);
    const { uuid } = await completed(holder, { url: undefined, html: '<p>x</p>', persistence: { enabled: true } });
    expect((await holder.refresh(uuid)).status).toBe(200);
    await untilRefresh(holder, uuid, 'completed');
    const job = front.renderer.jobs.find((each) => each.uuid === uuid && each.revision === 1);
    expect(job?.source).toEqual({ kind: 'stored-html', fileName: uuid, region: 'us-east' });
  });
});

describe('the limits of a refresh', () => {
  test('a used-up quota is a 402, and nothing is queued', async () => {
    const holder = await openHolder(front, { tokenQuota: 1 });
    const { uuid } = await completed(holder);
    const { status, body } = await holder.refresh(uuid);
    expect([status, body.error?.code]).toEqual([402, 'QUOTA_EXCEEDED']);
    expect(await refreshOf(holder, uuid)).toBeUndefined();
    expect(await holder.usage()).toMatchObject({ tokens: 1, reserved: 0, queued: 0 });
  });

  test('a used-up rate is a 429 with headers', async () => {
    const holder = await openHolder(front, { ratePerMinute: 1, burst: 1 });
    const { uuid } = await completed(holder);
    const { status, body, headers } = await holder.refresh(uuid);
    expect([status, body.error?.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(20);
    expect(headers.get('x-ratelimit-limit')).toBe('1');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
  });

  test('a full queue is a 429', async () => {
    const holder = await openHolder(front, { maxQueued: 1 });
    const [first, second] = [await completed(holder), await completed(holder)];
    release = holdJobs(front.renderer);
    expect((await holder.refresh(first.uuid)).status).toBe(200);
    expect((await holder.refresh(second.uuid)).body.error?.code).toBe('QUEUE_FULL');
    release();
    await untilRefresh(holder, first.uuid, 'completed');
    expect((await holder.refresh(second.uuid)).status).toBe(200);
  });
});

test('a refresh is charged to the month of its request', async () => {
  const holder = await openHolder(front);
  const captures = new Captures(front.nats.session);
  const lastMonth = periodOf(Date.now()).start - 86_400_000;
  const time = lastMonth.toString(16).padStart(12, '0');
  const uuid = `${time.slice(0, 8)}-${time.slice(8)}${randomUUIDv7().slice(13)}`;
  const record = newRecord({ uuid, account: holder.account, acceptedAt: lastMonth, priority: 'background' });
  await captures.create(record);
  await captures.end(record, complete(0, newOutcome(), Date.now() + 60_000));
  expect(await holder.usage()).toMatchObject({ tokens: 0, captures: 0 });
  expect((await holder.refresh(uuid)).status).toBe(200);
  await untilRefresh(holder, uuid, 'completed');
  expect(await holder.usage()).toEqual({ tokens: 1, captures: 1, reserved: 0, queued: 0 });
  const before = await new AccountUsage(front.nats.session).read(holder.account, lastMonth, 'exact');
  expect(before).toMatchObject({ tokens: 1, reserved: 0, queued: 0 });
  expect((await holder.record(uuid)).refreshCharges).toEqual({ [monthOf(Date.now())]: { tokens: 1, captures: 1 } });
});

test('a refresh starts with the next revision only', () => {
  const order = { by: 'request', region: 'us-east', acceptedAt: 1, startBy: 2, deadline: 3 } as const;
  const record = newRecord({ status: 'completed', outcome: newOutcome() });
  expect(startRefresh({ ...order, revision: 2 })(record, 0)).toBeNull();
  const queued = startRefresh({ ...order, revision: 1 })(record, 0);
  expect(queued?.refresh).toMatchObject({ revision: 1, state: 'queued' });
});
