import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { withdrawHeartbeat, publishHeartbeat } from '@webcapture/shared/queue/publish-heartbeat.ts';
import { periodOf } from '@webcapture/shared/captures/times.ts';
import { until } from '../../harness/until.ts';
import type { Answer } from './accounts.ts';
import { completeJobs, holdJobs, openHolder, startBackgroundFront, tally, type Holder } from './background.ts';
import type { TestFront } from './test-front.ts';
import { chargesOf } from '../../harness/limits.ts';

let testFront: TestFront;
let fronts: string[];
let release = () => undefined as void;
beforeAll(async () => {
  // Timeout of the check. On a slow machine, the check of many concurrent requests may exceed the default.
  testFront = await startBackgroundFront({ checkTimeoutMs: 30_000 });
  fronts = [testFront.url, await testFront.addFront(), await testFront.addFront(), await testFront.addFront()];
});
afterAll(() => testFront[Symbol.asyncDispose]());
afterEach(() => {
  release();
  completeJobs(testFront.renderer);
});

const front = (index: number) => fronts[index % fronts.length] ?? testFront.url;
const idle = (holder: Holder) => until('all to have ended', async () => (await holder.usage()).queued === 0);

/** Sends `count` concurrent background captures, spread over the four fronts. */
const hammer = (holder: Holder, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => holder.capture({}, front(index))));

/** Returns an account's usage; shards, records and GET /usage must agree. */
async function agreedUsage(holder: Holder) {
  const usage = await holder.ledger();
  expect(usage).toEqual(await holder.sumOfRecords());
  expect(await holder.tokensUsed()).toBe(usage.tokens);
  return chargesOf(usage);
}

describe('four fronts that receive requests at once admit exactly what is allowed', () => {
  test('by the limit of queued captures, and captures that end make room', async () => {
    const holder = await openHolder(testFront, { maxQueued: 12 });
    for (let round = 0; round < 2; round++) {
      release = holdJobs(testFront.renderer);
      const answers = await hammer(holder, 80);
      expect(tally(answers)).toEqual({ queued: 12, QUEUE_FULL: 68 });
      for (const { status, headers } of answers.filter(({ body }) => !body.success)) {
        expect(status).toBe(429);
        expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(2);
      }
      expect(await agreedUsage(holder)).toEqual({ tokens: 12 * round, captures: 12 * round, queued: 12, reserved: 12 });
      release();
      await idle(holder);
      expect(await agreedUsage(holder)).toMatchObject({ tokens: 12 * (round + 1), queued: 0, reserved: 0 });
    }
  });

  test('and a full background queue does not block interactive captures', async () => {
    const holder = await openHolder(testFront, { maxQueued: 1, maxInFlight: 1 });
    const hold = Promise.withResolvers<undefined>();
    release = () => hold.resolve(undefined);
    testFront.renderer.behavior = async (job, self) => {
      if (job.priority === 'background') await hold.promise;
      await self.complete(job);
    };
    await holder.queue();
    expect((await holder.capture()).body.error?.code).toBe('QUEUE_FULL');
    expect((await holder.capture({ background: false })).status).toBe(200);
  });

  test('by the quota, for interactive and background captures together', async () => {
    const holder = await openHolder(testFront, { tokenQuota: 25 });
    release = holdJobs(testFront.renderer);
    const refused: Answer[] = [];
    const queued: Answer[] = [];
    const answers = Array.from({ length: 80 }, async (_, index) => {
      const answer = await holder.capture({ background: index % 2 === 0 }, front(index >> 1));
      if (answer.status === 402) refused.push(answer);
      if (answer.body.data?.['status'] === 'queued') queued.push(answer);
      return answer;
    });
    await until('all others to be refused', () => refused.length === 55);
    expect(refused[0]?.body.error?.code).toBe('QUOTA_EXCEEDED');
    // The ledger may contain a capture whose answer is not received yet.
    await until('the usage to tell of all that wait', async () => {
      const { tokens, reserved } = await holder.usage();
      return tokens === 0 && reserved === queued.length;
    });
    release();
    expect(tally(await Promise.all(answers))).toMatchObject({ QUOTA_EXCEEDED: 55 });
    await idle(holder);
    expect(await agreedUsage(holder)).toEqual({ tokens: 25, captures: 25, reserved: 0, queued: 0 });
    expect(queued.length).toBeGreaterThan(0);
    expect(queued.length).toBeLessThan(25);
  });

  test('by the quota, for refreshes', async () => {
    const holder = await openHolder(testFront, { tokenQuota: 9 });
    const captures = await Promise.all(Array.from({ length: 6 }, () => holder.queue()));
    await idle(holder);
    release = holdJobs(testFront.renderer);
    const answers = await Promise.all(captures.map(({ uuid }, index) => holder.refresh(uuid, front(index))));
    expect(tally(answers)).toEqual({ completed: 3, QUOTA_EXCEEDED: 3 });
    expect(await agreedUsage(holder)).toEqual({ tokens: 6, captures: 6, reserved: 3, queued: 3 });
    release();
    await idle(holder);
    expect(await agreedUsage(holder)).toEqual({ tokens: 9, captures: 9, reserved: 0, queued: 0 });
  });
});

test('a cancellation or a failure releases reserved tokens, and a completion charges them', async () => {
  const holder = await openHolder(testFront, { tokenQuota: 3 });
  const hold = Promise.withResolvers<undefined>();
  const failing = new Set<string>();
  release = () => hold.resolve(undefined);
  testFront.renderer.behavior = async (job, self) => {
    await hold.promise;
    await (failing.has(job.uuid) ? self.fail(job, 'NAVIGATION_FAILED', 'No.') : self.complete(job));
  };
  const [first, second] = [await holder.queue(), await holder.queue(), await holder.queue()];
  expect((await holder.capture({}, fronts[1])).status).toBe(402);
  await holder.remove(first?.uuid ?? '');
  expect((await holder.capture({}, fronts[2])).status).toBe(200);
  expect((await holder.capture({}, fronts[3])).status).toBe(402);
  failing.add(second?.uuid ?? '');
  release();
  await idle(holder);
  expect(await agreedUsage(holder)).toEqual({ tokens: 2, captures: 2, reserved: 0, queued: 0 });
  expect((await holder.capture({ antiBot: true })).status).toBe(402);
  expect((await holder.capture({}, fronts[1])).status).toBe(200);
});

test(
  'after a mix of captures, failures, cancellations and refreshes, the usage equals the records',
  { tags: 'long' },
  async () => {
    const holder = await openHolder(testFront);
    let count = 0;
    testFront.renderer.behavior = (job, self) =>
      count++ % 3 === 0 ? self.fail(job, 'NAVIGATION_FAILED', 'No.') : self.complete(job);
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const { body } = await holder.capture({ antiBot: index % 5 === 0 }, front(index));
        const uuid = String(body.data?.['uuid']);
        if (index % 4 === 0) await holder.remove(uuid, front(index + 1));
        if (index % 4 === 1) await holder.refresh(uuid, front(index + 2));
        return uuid;
      }),
    );
    await idle(holder);
    await Promise.all(answers.map((uuid, index) => holder.refresh(uuid, front(index))));
    await idle(holder);
    const usage = await agreedUsage(holder);
    expect(usage).toMatchObject({ reserved: 0, queued: 0 });
    expect(usage.captures).toBeGreaterThan(30);
  },
);

test('a refusal for a full queue has a Retry-After from the current waiting time', async () => {
  const live = new Entries(testFront.nats.session, 'live');
  const [full, asking] = [await openHolder(testFront, { maxQueued: 1 }), await openHolder(testFront)];
  release = holdJobs(testFront.renderer);
  const recent = { ended: 10, internalFailures: 0, queueWaitP95Ms: 0, meanRenderMs: 120_000 };
  const said = { pod: 'busy', instance: 'one', region: 'us-east', version: '0', slots: 10, busy: 12, recent } as const;
  const say = () => publishHeartbeat(live, { ...said, browser: 'up', draining: false, jobs: [], at: Date.now() });
  await say();
  // The heartbeat is repeated so that it stays fresh for the whole test.
  const timer = setInterval(() => void say().catch(() => undefined), 1000);
  try {
    await until('the fronts to have heard', async () => (await asking.queue())['estimatedWaitSeconds'] === 10);
    await full.queue();
    const { body, headers } = await full.capture();
    expect([body.error?.code, headers.get('retry-after')]).toEqual(['QUEUE_FULL', '10']);
  } finally {
    clearInterval(timer);
    await withdrawHeartbeat(live, 'us-east', 'busy');
  }
});

test('captures queued on the last day of a month still count as queued in the next one', async () => {
  let now = Date.now();
  await using later = await startBackgroundFront({ now: () => now });
  const holder = await openHolder(later, { maxQueued: 3, tokenQuota: 3 });
  const letGo = holdJobs(later.renderer);
  const captures = [await holder.queue(), await holder.queue(), await holder.queue()];
  const { end } = periodOf(Date.now());
  const usage = new AccountUsage(later.nats.session);
  expect((await holder.capture()).body.error?.code).toBe('QUOTA_EXCEEDED');
  for (const time of [end, end + 1000, end + 86_400_000]) {
    now = time;
    expect(await usage.read(holder.account, now, 'exact')).toMatchObject({ tokens: 0, reserved: 0, queued: 3 });
    expect((await holder.capture()).body.error?.code).toBe('QUEUE_FULL');
  }
  await holder.remove(captures[0]?.uuid ?? '');
  expect((await holder.capture()).status).toBe(200);
  now = end + 3 * 86_400_000;
  const sum = await usage.read(holder.account, now, 'rough');
  letGo();
  // The last capture was accepted in this month, according to the same clock.
  expect(sum).toMatchObject({ queued: 1 });
});
