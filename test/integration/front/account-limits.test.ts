import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UsageView } from '@webcapture/shared/api/account.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { keysMatching, readMany } from '@webcapture/shared/nats/read-many.ts';
import { type AdmissionState, freshAdmissionState } from '@webcapture/shared/accounts/limits.ts';
import { usageOf } from '@webcapture/shared/captures/usage.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, openAccount, send, type Answer } from './accounts.ts';
import { holdJobs } from './background.ts';
import { presetKey, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let fronts: string[];
beforeAll(async () => {
  // Timeout of the check. On a slow machine, the check of many concurrent requests may exceed the default.
  front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken }, { checkTimeoutMs: 30_000 });
  fronts = [front.url, await front.addFront(), await front.addFront(), await front.addFront()];
});
afterAll(() => front[Symbol.asyncDispose]());
beforeEach(() => {
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
});

const wide = { tokenQuota: 1e6, ratePerMinute: 1e6, burst: 1e6, maxInFlight: 1e5 };
const url = 'https://example.com/';
const capture = (key: string, base = front.url, body: object = {}) =>
  send(`${base}/capture`, key, { body: { url, ...body } });

/** Sends `count` concurrent captures, spread over the four fronts. */
const hammer = (key: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => capture(key, fronts[index % fronts.length])));

/** Counts the answers by error code. */
function tally(answers: readonly Answer[]): Record<string, number> {
  const groups = Map.groupBy(answers, ({ body }) => body.error?.code ?? 'completed');
  return Object.fromEntries([...groups].map(([code, group]) => [code, group.length]));
}

const usage = async (key: string) => dataOf<UsageView>(await send(`${front.url}/usage`, key));

/** Returns the sum of the charges in an account's capture records, which its usage must equal. */
async function chargedTo(account: string): Promise<number> {
  const { session } = front.nats;
  const keys = await keysMatching(session, 'db', `capture.${account}.>`);
  const records = await readMany<CaptureRecord>(session, 'db', keys);
  const months = [...records.values()].flatMap((record) => [...usageOf(record).values()]);
  return months.reduce((sum, { tokens }) => sum + tokens, 0);
}

const limitState = (account: string) => new Entries(front.nats.session, 'live').get<AdmissionState>(`limit.${account}`);
const reservations = async (account: string) => Object.keys((await limitState(account))?.value.holds ?? {});

describe('four fronts that receive requests at once admit exactly what is allowed', () => {
  test('by the rate limit', async () => {
    const { account, first } = await openAccount(front.url, { ...wide, ratePerMinute: 1, burst: 30 });
    const answers = await hammer(first.key, 80);
    expect(tally(answers)).toEqual({ completed: 30, RATE_LIMIT_EXCEEDED: 50 });
    expect((await usage(first.key)).tokensUsed).toBe(30);
    expect(await chargedTo(account.id)).toBe(30);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(30);
    expect(refused?.headers.get('x-ratelimit-remaining')).toBe('0');
  });

  test('by the token quota', async () => {
    const { account, first } = await openAccount(front.url, { ...wide, tokenQuota: 25 });
    expect(tally(await hammer(first.key, 80))).toEqual({ completed: 25, QUOTA_EXCEEDED: 55 });
    expect(await usage(first.key)).toMatchObject({ tokensUsed: 25, inFlight: 0 });
    expect(await chargedTo(account.id)).toBe(25);
    expect(await reservations(account.id)).toEqual([]);
  });

  test('by the limit of captures in flight, and captures that end make room', async () => {
    const { account, first } = await openAccount(front.url, { ...wide, maxInFlight: 7 });
    for (let round = 1; round <= 2; round++) {
      const release = holdJobs(front.renderer);
      const answers = hammer(first.key, 40);
      await until('seven in flight', async () => (await usage(first.key)).inFlight === 7);
      release();
      const counts = tally(await answers);
      // Requests that arrive after the first captures have ended may be admitted too, but never more than seven at the same time.
      expect((counts['completed'] ?? 0) + (counts['QUEUE_FULL'] ?? 0)).toBe(40);
      expect(counts['completed']).toBeGreaterThanOrEqual(7);
      expect(await reservations(account.id)).toEqual([]);
    }
  });

  test('by the limit of captures in flight, and none above it while all of them wait', async () => {
    const { first } = await openAccount(front.url, { ...wide, maxInFlight: 7 });
    const release = holdJobs(front.renderer);
    const refused: Answer[] = [];
    const answers = Array.from({ length: 40 }, (_, index) =>
      capture(first.key, fronts[index % fronts.length]).then((answer) => {
        if (answer.status === 429) refused.push(answer);
        return answer;
      }),
    );
    await until('all others to be refused', () => refused.length === 33);
    expect(refused[0]?.headers.get('retry-after')).toBe('2');
    release();
    expect(tally(await Promise.all(answers))).toEqual({ completed: 7, QUEUE_FULL: 33 });
  });
});

test('failures are not charged, and the usage equals the sum of the records', async () => {
  const { account, first } = await openAccount(front.url, { ...wide, tokenQuota: 40 });
  let count = 0;
  front.renderer.behavior = (job, renderer) =>
    count++ % 2 === 0 ? renderer.complete(job) : renderer.fail(job, 'NAVIGATION_FAILED', 'There is no such host.');
  expect(tally(await hammer(first.key, 40))).toEqual({ completed: 20, NAVIGATION_FAILED: 20 });
  expect(await usage(first.key)).toMatchObject({ tokensUsed: 20, inFlight: 0 });
  expect(await chargedTo(account.id)).toBe(20);
  front.renderer.behavior = (job, renderer) => renderer.complete(job);
  expect(tally(await hammer(first.key, 40))).toEqual({ completed: 20, QUOTA_EXCEEDED: 20 });
  expect(await chargedTo(account.id)).toBe(40);
});

describe('rate-limit headers', () => {
  test('the answer contains the rate limit, the remaining requests and the reset time', async () => {
    const { first } = await openAccount(front.url, { ratePerMinute: 60, burst: 3, tokenQuota: 2 });
    const answers = [await capture(first.key), await capture(first.key, fronts[1]), await capture(first.key)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 402]);
    for (const [index, { headers }] of answers.entries()) {
      expect(headers.get('x-ratelimit-limit')).toBe('60');
      expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(2 - index);
      expect(Number(headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(index + 1);
    }
    expect(answers[2]?.headers.has('retry-after')).toBe(false);
    expect(answers[2]?.body.error?.message).toMatch(/begins at \d{4}-\d\d-01T00:00:00/);
  });

  test('a refusal for the rate limit has Retry-After, and a request after that time is admitted', async () => {
    const start = performance.now();
    const { first } = await openAccount(front.url, { ratePerMinute: 60, burst: 1 });
    // On a slow machine, a second may pass before the next request, which is then admitted.
    let passed = 0;
    const refused = await until('one to be refused', async () => {
      const answers = [await capture(first.key), await capture(first.key, fronts[2])];
      passed += answers.filter(({ status }) => status === 200).length;
      return answers.find(({ status }) => status === 429);
    });
    expect(passed).toBeLessThanOrEqual(1 + Math.floor((performance.now() - start) / 1000));
    expect([refused.status, refused.body.error?.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(refused.headers.get('retry-after')).toBe('1');
    await until('the next one to pass', async () => (await capture(first.key, fronts[3])).status === 200, {
      deadlineMs: 1500,
    });
  });

  test('a request that fails authentication or validation gets no rate-limit headers', async () => {
    for (const answer of [await capture('unknown'), await capture(presetKey, front.url, { quality: 0 })]) {
      expect(answer.headers.has('x-ratelimit-limit')).toBe(false);
    }
  });

  test('a capture with antiBot needs two tokens of the quota', async () => {
    const { first } = await openAccount(front.url, { ...wide, tokenQuota: 3 });
    const antiBot = { antiBot: true };
    expect((await capture(first.key, front.url, antiBot)).status).toBe(200);
    expect((await capture(first.key, fronts[1], antiBot)).status).toBe(402);
    expect((await capture(first.key, fronts[2])).status).toBe(200);
    expect((await usage(first.key)).tokensUsed).toBe(3);
  });
});

test('changed limits take effect within a second', async () => {
  const { account, first } = await openAccount(front.url, { ...wide, tokenQuota: 1 });
  expect((await capture(first.key)).status).toBe(200);
  expect((await capture(first.key)).status).toBe(402);
  await send(`${fronts[1]}/admin/accounts/${account.id}`, adminToken, { method: 'PATCH', body: { tokenQuota: 2 } });
  await until('it to hold', async () => (await capture(first.key)).status === 200, { deadlineMs: 1000 });
});

describe('a reservation is released', () => {
  test('before the answer is sent, so that the next request is admitted on every front', async () => {
    const { first } = await openAccount(front.url, { ...wide, maxInFlight: 1 });
    for (let index = 0; index < 20; index++) expect((await capture(first.key, fronts[index % 4])).status).toBe(200);
  });

  test('if the capture is refused before it is queued', async () => {
    const { account, first } = await openAccount(front.url, { ...wide, maxInFlight: 1 });
    for (let index = 0; index < 3; index++) {
      const answer = await capture(first.key, fronts[index], { region: 'asia-east' });
      expect(answer.body.error?.code).toBe('REGION_UNAVAILABLE');
    }
    expect(await reservations(account.id)).toEqual([]);
  });

  test('when the capture ends, not when the client disconnects', async () => {
    const { account, first } = await openAccount(front.url, { ...wide, maxInFlight: 1 });
    let release = () => undefined as void;
    const released = new Promise<void>((resolve) => (release = resolve));
    let begun = false;
    front.renderer.behavior = async (job, renderer) => {
      begun = true;
      await released;
      await renderer.complete(job);
    };
    const aborter = new AbortController();
    const answer = front.capture({ url }, { key: first.key, signal: aborter.signal });
    await until('the capture to have begun', () => begun);
    aborter.abort();
    await expect(answer).rejects.toThrow();
    const metrics = () => front.metrics.metrics();
    await until('the front to have noticed', async () => /outcome="client_gone".* 1/.test(await metrics()));
    expect((await capture(first.key, fronts[1])).body.error?.code).toBe('QUEUE_FULL');
    release();
    await until('the reservation to be released', async () => (await reservations(account.id)).length === 0);
    expect((await capture(first.key, fronts[2])).status).toBe(200);
  });

  test('after a front has died, as soon as the record says that the capture has ended', async () => {
    const { account, first } = await openAccount(front.url, { ...wide, maxInFlight: 1 });
    const { body } = await capture(first.key);
    // The state that a front leaves behind if it dies after the end of the capture.
    const state = await limitState(account.id);
    const reservation = [1, Date.now() + 100_000, 'interactive'];
    const ended = { ...freshAdmissionState, holds: { [String(body.data?.['uuid'])]: reservation } };
    await new Entries(front.nats.session, 'live').update(`limit.${account.id}`, ended, state?.revision ?? 0);
    expect(await usage(first.key)).toMatchObject({ inFlight: 0 });
    expect((await capture(first.key)).status).toBe(200);
    expect(await reservations(account.id)).toEqual([]);
  });
});
