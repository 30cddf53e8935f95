// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { ending } from './support/settling.ts';
import { tasking } from './support/tasking.ts';
import { TestController } from './support/test-controller.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
afterAll(() => nats[Symbol.asyncDispose]());

const hour = 3_600_000;

const startController = () =>
  TestController.start({
    WEBCAPTURE_NATS_URL: nats.url,
    WEBCAPTURE_REGIONS: 'us-east',
    WEBCAPTURE_POD: 'controller-1',
  });

test('work that became due while no controller was running is done by the next one, once', async () => {
  const { session } = nats;
  const metrics = createControllerMetrics(createMetrics('test'));
  const tools = tasking({ session, ...ending(session, metrics) });
  const { completed, deps, stored, store, usage, queue } = tools;
  const tasks = new Tasks(session);
  await new Accounts(session).put({ id: 'down', name: 'down', createdAt: 1 });

  const first = await startController();
  await until('it to lead', async () => (await first.metric('webcapture_controller_leader')) === 1);
  await first.stop();

  // The renderer has left a file that expires after 1 s, and a capture with overdue refreshes.
  const short = await completed({ account: 'down', expiresAt: Date.now() + 1000 });
  const interval = { refreshIntervalMs: hour };
  const refreshed = await completed({ account: 'down', persistence: interval, expiresAt: Date.now() + 100 * hour });
  const missed = Date.now() - 4.5 * hour;
  const due = await deps.captures.change(refreshed, (record) => ({ ...record, nextRefreshAt: missed }));
  const followUps = new FollowUps(tasks, new ExpiryIndex(session));
  for (const record of [short, due ?? refreshed]) await followUps.schedule(record);
  // The front has left a capture whose job was never queued.
  const accepted = newRecord({ account: 'down', priority: 'background', tokenCost: 2 });
  await tasks.schedule({ kind: 'dispatch', account: 'down', uuid: accepted.uuid, revision: 0 }, Date.now() + 500);
  await deps.captures.create(accepted);
  await until('its time to pass', () => Date.now() > short.expiresAt + 1000);
  expect((await stored(short))?.status).toBe('completed');
  expect(await queue()).toEqual([]);

  const second = await startController();
  await until('the expiry', async () => (await stored(short))?.status === 'expired');
  await until('the file to go', async () => (await store.stat(short.fileName)) === null);
  await until('both jobs', async () => (await queue()).length === 2);
  const jobs = (await queue()).map(({ uuid, revision }) => [uuid, revision]);
  expect(jobs).toEqual(
    expect.arrayContaining([
      [accepted.uuid, 0],
      [refreshed.uuid, 1],
    ]),
  );
  expect((await stored(refreshed))?.nextRefreshAt).toBe(missed + 5 * hour);
  expect(await usage('down')).toEqual({ tokens: 4, captures: 2, reserved: 4, queued: 2 });
  for (const kind of ['expiry', 'refresh', 'dispatch']) {
    const name = `webcapture_tasks_total{kind="${kind}",outcome="done"}`;
    await until(`the count of ${kind}`, async () => (await second.metric(name)) === 1);
  }
  await second.stop();
});
