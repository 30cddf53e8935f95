import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AdminCapture, AdminUsage } from '@webcapture/shared/api/admin.ts';
import type { UsageHistoryView } from '@webcapture/shared/api/usage-history.ts';
import { complete, fail } from '@webcapture/shared/captures/transitions.ts';
import { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import type { ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import { createStatisticsMetrics, Statistics, UsageHistory } from '@webcapture/shared/statistics/statistics.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { adminToken, dataOf, openAccount, send } from './accounts.ts';
import { read, startTestFront, type TestFront } from './test-front.ts';

let front: TestFront;
let other: string;
beforeAll(async () => {
  front = await startTestFront({ WEBCAPTURE_ADMIN_TOKEN: adminToken }, { statisticsMs: 100 });
  other = await front.addFront();
});
afterAll(() => front[Symbol.asyncDispose]());

const historyOf = async (key: string, query = '') =>
  dataOf<UsageHistoryView>(await send(`${front.url}/usage/history${query}`, key));
const today = () => new Date(front.nats.session.now()).toISOString().slice(0, 10);

describe('GET /usage/history', () => {
  test('returns usage by day and by key over all fronts, equal to the ledger', async () => {
    const { account, first } = await openAccount(front.url);
    const body = { accountId: account.id, name: 'second' };
    const second = dataOf<{ id: string; key: string }>(await send(`${front.url}/admin/keys`, adminToken, { body }));
    const capture = async (front: string, key: string, options: object = {}) =>
      read(
        await fetch(`${front}/capture`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
          body: JSON.stringify({ url: 'https://example.com/', ...options }),
        }),
      );
    const cached = { url: 'https://cached.example/', responseCache: { enabled: true } };
    await capture(front.url, first.key, cached);
    await capture(other, first.key, { antiBot: true });
    await capture(front.url, second.key, cached);
    const queued = await capture(other, second.key, { background: true });
    const uuid = String(queued.body.data?.['uuid']);
    const stateOf = async () =>
      dataOf<{ status: string; refresh?: { state: string } }>(await send(`${front.url}/captures/${uuid}`, first.key));
    await until('the background capture', async () => (await stateOf()).status === 'completed');
    await send(`${front.url}/captures/${uuid}/refresh`, first.key, { method: 'POST' });
    await until('the refresh', async () => (await stateOf()).refresh?.state === 'completed');
    front.renderer.behavior = (job, renderer) => renderer.fail(job, 'NAVIGATION_FAILED', 'It is gone.');
    const failed = await capture(front.url, second.key).finally(() => {
      front.renderer.behavior = (job, renderer) => renderer.complete(job);
    });
    expect(failed.body.error?.code).toBe('NAVIGATION_FAILED');

    const latencyMs = {
      p50: expect.any(Number) as number,
      p90: expect.any(Number) as number,
      p99: expect.any(Number) as number,
    };
    const totals = { tokens: 5, completed: 4, failed: 1, cached: 1 };
    const history = await until('all to be written', async () => {
      const found = await historyOf(first.key, '?days=2');
      return (
        JSON.stringify({ ...found.totals, successRate: 0, latencyMs: 0 }) ===
          JSON.stringify({ ...totals, successRate: 0, latencyMs: 0 }) && found
      );
    });
    const nothing = { tokens: 0, completed: 0, failed: 0, cached: 0, latencyMs: null };
    expect(history).toEqual({
      days: [
        { date: expect.any(String) as string, ...nothing },
        { date: today(), ...totals, latencyMs },
      ],
      keys: [
        { id: first.id, name: 'first', tokens: 3, completed: 2, failed: 0, cached: 0 },
        { id: second.id, name: 'second', tokens: 1, completed: 1, failed: 1, cached: 1 },
      ],
      totals: { ...totals, successRate: 0.8, latencyMs },
    });
    const { tokensUsed } = dataOf<{ tokensUsed: number }>(await send(`${front.url}/usage`, first.key));
    expect(tokensUsed).toBe(totals.tokens);
    expect((await historyOf(first.key)).days).toHaveLength(30);
    expect((await historyOf(await front.makeKey(), '?days=90')).totals).toEqual({ ...nothing, successRate: null });
    // The ticket must not reveal the id of the key to a renderer.
    for (const { ticket } of front.renderer.jobs) {
      expect(Buffer.from(ticket.split('.')[0] ?? '', 'base64url').toString()).not.toContain(second.id);
    }
  });

  test.each(['days=0', 'days=91', 'days=1.5', 'days=x', 'days=', 'days=1&days=2', 'since=1'])(
    'refuses %s',
    async (query) => {
      const answered = await send(`${front.url}/usage/history?${query}`, await front.makeKey());
      expect([answered.status, answered.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    },
  );

  test('needs the read scope', async () => {
    const key = await front.makeKey({ scopes: ['capture'] });
    expect((await send(`${front.url}/usage/history`, key)).body.error?.code).toBe('FORBIDDEN');
  });
});

test('statistics that failed to be written are written later, and those of several processes add up', async () => {
  const nats = front.nats;
  const account = `account-${randomUUID()}`;
  const registry = new Registry();
  const sessions = await Promise.all([nats.connect(), nats.connect()]);
  const [one, two] = sessions.map((session) => new Statistics(session, createStatisticsMetrics(new Registry())));
  let isAway = true;
  const { js } = nats.session;
  const publish: typeof js.publish = (...call) => (isAway ? Promise.reject(new Error('away')) : js.publish(...call));
  const faulty = { ...nats.session, js: { publish } as typeof js };
  const away = new Statistics(faulty, createStatisticsMetrics(registry));
  const note = (statistics: Statistics | undefined) => {
    const before = newRecord({ account, acceptedAt: nats.session.now() - 700 });
    const now = nats.session.now();
    statistics?.changed(before, complete(0, newOutcome(), now + 1000)(before, now) ?? before);
  };
  for (const statistics of [one, two, two]) note(statistics);
  await Promise.all([one?.flush(), two?.flush()]);
  await two?.flush();
  const completed = async () => {
    const [day] = await new UsageHistory(nats.session).read(account, 1, nats.session.now());
    return day?.day.completed;
  };
  expect(await completed()).toBe(3);
  note(away);
  await expect(away.flush()).rejects.toThrow('away');
  expect(await registry.metrics()).toContain('webcapture_statistics_writes_total{outcome="failed"} 1');
  expect(await completed()).toBe(3);
  isAway = false;
  await away.flush();
  expect(await completed()).toBe(4);
  await away.flush();
  expect(await completed()).toBe(4);
});

describe('the usage by account of the operator', () => {
  const usageOf = async (query: string) =>
    dataOf<AdminUsage>(await send(`${front.url}/admin/usage${query}`, adminToken));

  test('lists the accounts with the most tokens first, with their most frequent errors, for the days that were asked for', async () => {
    const { session } = front.nats;
    const statistics = new Statistics(session, createStatisticsMetrics(new Registry()));
    const now = session.now();
    const note = (account: string, daysAgo: number, tokenCost: number, codes: readonly ErrorCode[] = []) => {
      const at = now - daysAgo * 86_400_000;
      const before = newRecord({ account, acceptedAt: at, tokenCost });
      statistics.changed(before, complete(0, newOutcome(), at)(before, at) ?? before);
      for (const code of codes) {
        const failed = newRecord({ account, acceptedAt: at });
        statistics.changed(failed, fail(0, { code, message: 'No.', cause: 'page' })(failed, at) ?? failed);
      }
    };
    const [most, old] = [`most-${randomUUID()}`, `old-${randomUUID()}`];
    note(most, 0, 1_000_000, ['CAPTURE_TIMEOUT', 'NAVIGATION_FAILED', 'NAVIGATION_FAILED']);
    note(most, 1, 1_000_000, ['NAVIGATION_FAILED']);
    note(old, 20, 5_000_000);
    await statistics.flush();

    const week = await usageOf('');
    expect(week.accounts[0]).toEqual({
      account: most,
      name: null,
      tokens: 2_000_000,
      completed: 2,
      failed: 4,
      cached: 0,
      failures: [
        { code: 'NAVIGATION_FAILED', count: 3 },
        { code: 'CAPTURE_TIMEOUT', count: 1 },
      ],
    });
    expect(week.totals.tokens).toBe(week.accounts.reduce((sum, { tokens }) => sum + tokens, 0));
    expect((await usageOf('?days=1')).accounts[0]?.tokens).toBe(1_000_000);
    const month = await usageOf('?days=30&limit=1');
    expect(month.accounts.map(({ account }) => account)).toEqual([old]);
    expect(month.totals.accounts).toBe(week.totals.accounts + 1);
  });

  test('names the accounts', async () => {
    const key = await front.makeKey();
    expect((await front.capture({ url: 'https://example.com/named' }, { key })).status).toBe(200);
    await until('the account', async () => (await usageOf('?limit=100')).accounts.some(({ name }) => name !== null));
  });

  test.each(['days=0', 'days=91', 'limit=0', 'limit=101', 'sort=x'])('refuses %s', async (query) => {
    const answered = await send(`${front.url}/admin/usage?${query}`, adminToken);
    expect([answered.status, answered.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
  });
});

describe('the captures of the operator', () => {
  test('lists the slowest and the failed captures of all accounts, without URLs', async () => {
    const key = await front.makeKey();
    front.renderer.behavior = (job, renderer) =>
      renderer.fail(job, 'NAVIGATION_FAILED', 'https://shop.example/?token=secret did not answer.');
    const failed = await front.capture({ url: 'https://shop.example/?token=secret' }, { key }).finally(() => {
      front.renderer.behavior = (job, renderer) => renderer.complete(job);
    });
    expect(failed.status).toBe(500);
    const list = async (query: string) =>
      dataOf<{ captures: AdminCapture[] }>(await send(`${front.url}/admin/captures${query}`, adminToken)).captures;
    const [latest] = await until('the failed capture', async () => {
      const found = await list('?sort=failed&limit=1');
      return found[0]?.host === 'shop.example' && found;
    });
    expect(latest).toEqual({
      uuid: failed.headers.get('x-capture-uuid'),
      account: expect.any(String) as string,
      host: 'shop.example',
      region: 'us-east',
      code: 'NAVIGATION_FAILED',
      message: 'shop.example did not answer.',
      durationMs: expect.any(Number) as number,
      endedAt: expect.any(String) as string,
    });
    const slowest = await list('');
    expect(slowest.length).toBeGreaterThan(0);
    expect(slowest.every(({ code }) => code === null)).toBe(true);
    const durations = slowest.map(({ durationMs }) => durationMs);
    expect(durations).toEqual(durations.toSorted((a, b) => b - a));
  });

  test('dead letters are listed newest first, up to a hundred', async () => {
    const deadLetters = new DeadLetters(front.nats.session);
    const letter = (number: number) =>
      ({
        at: new Date(number).toISOString(),
        uuid: `${number}`,
        account: 'a',
        region: 'us-east',
        reason: 'terminated',
        deliveries: 1,
      }) as const;
    for (let number = 1; number <= 103; number++) await deadLetters.add(letter(number));
    const { deadLetters: listed } = dataOf<{ deadLetters: object[] }>(
      await send(`${front.url}/admin/dead-letters`, adminToken),
    );
    expect([listed.length, listed[0], listed.at(-1)]).toEqual([100, letter(103), letter(4)]);
  });

  test.each(['sort=newest', 'limit=0', 'limit=51', 'limit=x', 'account=a'])('refuses %s', async (query) => {
    const answered = await send(`${front.url}/admin/captures?${query}`, adminToken);
    expect([answered.status, answered.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  test('needs the admin token, and is not found if none is configured', async () => {
    const key = await front.makeKey();
    await using plain = await startTestFront();
    for (const path of ['/admin/captures', '/admin/dead-letters', '/admin/usage', '/admin/overview', '/admin/events']) {
      expect((await send(front.url + path, key)).body.error?.code).toBe('UNAUTHORIZED');
      expect((await send(plain.url + path, adminToken)).status).toBe(404);
    }
  });
});
