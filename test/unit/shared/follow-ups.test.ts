import { expect, test } from 'vitest';
import type { CaptureRecord, CaptureRefresh, WebhookDelivery } from '@webcapture/shared/captures/capture-record.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import type { Task } from '@webcapture/shared/queue/tasks.ts';
import { fake } from '../../harness/fake.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

const uuid = '01a1fd8a-28f4-7407-b5a7-118e86daad01';
const capture = { account: 'acme', uuid };
const pending: WebhookDelivery = {
  url: 'https://hooks.example/',
  state: 'pending',
  event: 'capture.refreshed',
  revision: 3,
  occurredAt: 1234,
  attempts: 0,
};
const delivery = {
  kind: 'webhook',
  ...capture,
  revision: 3,
  event: 'capture.refreshed',
  occurredAt: 1234,
  attempt: 1,
  firstAt: 1234,
  receiver: 'hooks.example',
};
const expiry = { kind: 'expiry', ...capture };
const refreshTask = { kind: 'refresh', ...capture };
const refresh: CaptureRefresh = {
  revision: 1,
  state: 'completed',
  by: 'interval',
  region: 'us-east',
  acceptedAt: 1,
  startBy: 2,
  deadline: 3,
};

/** The tasks for a record, with the time of each, or `now`. */
async function arrange(changes: Partial<CaptureRecord>): Promise<readonly (readonly [Task, number | 'now'])[]> {
  const handed: [Task, number | 'now'][] = [];
  const followUps = new FollowUps(
    fake({
      publish: async (task) => void handed.push([task, 'now']),
      schedule: async (task, at) => void handed.push([task, at]),
    }),
    fake({ add: async ({ account, uuid: of }, at) => void handed.push([{ kind: 'expiry', account, uuid: of }, at]) }),
  );
  await followUps.schedule(newRecord({ uuid, expiresAt: 9000, ...changes }));
  return handed;
}

const outcome = newOutcome();

test.each<[string, Partial<CaptureRecord>, unknown[]]>([
  ['queued', {}, []],
  ['rendering', { status: 'rendering' }, []],
  ['completed', { status: 'completed', outcome }, [[expiry, 9000]]],
  [
    'completed, with a refresh',
    { status: 'completed', outcome, nextRefreshAt: 5000 },
    [
      [expiry, 9000],
      [refreshTask, 5000],
    ],
  ],
  [
    'completed, with a pending webhook',
    { status: 'completed', outcome, webhook: pending },
    [
      [expiry, 9000],
      [delivery, 'now'],
    ],
  ],
  [
    'completed, with a redelivery',
    { status: 'completed', outcome, webhook: { ...pending, redelivery: 2 } },
    [
      [expiry, 9000],
      [{ ...delivery, redelivery: 2 }, 'now'],
    ],
  ],
  [
    'completed, with a delivery in progress',
    { status: 'completed', webhook: { ...pending, attempts: 1 } },
    [[expiry, 9000]],
  ],
  [
    'completed, with a delivered webhook',
    { status: 'completed', webhook: { ...pending, state: 'delivered' } },
    [[expiry, 9000]],
  ],
  ['failed', { status: 'failed' }, [[expiry, 'now']]],
  [
    'failed, with a pending webhook',
    { status: 'failed', webhook: pending },
    [
      [expiry, 'now'],
      [delivery, 'now'],
    ],
  ],
  [
    'failed before it was queued',
    { status: 'failed', failure: { code: 'CAPTURE_FAILED', message: 'Gone.', cause: 'service', cancelled: true } },
    [],
  ],
  // The leader postpones the expiry entry of the capture when the entry is due.
  ['completed and refreshed', { status: 'completed', outcome, refresh, nextRefreshAt: 5000 }, [[refreshTask, 5000]]],
  ['expired', { status: 'expired', nextRefreshAt: 5000 }, []],
  ['deleted', { status: 'deleted', nextRefreshAt: 5000 }, [[expiry, 'now']]],
  ['queued, with a webhook', { webhook: { url: pending.url, state: 'waiting', attempts: 0 } }, []],
])('the follow-up tasks of a capture that is %s', async (_name, changes, tasks) => {
  expect(await arrange(changes)).toEqual(tasks);
});

test('schedule throws if a task cannot be published', async () => {
  const unavailable = async () => Promise.reject(new Error('unavailable'));
  const followUps = new FollowUps(fake({ publish: unavailable, schedule: unavailable }), fake({ add: unavailable }));
  await expect(followUps.schedule(newRecord({ status: 'completed' }))).rejects.toThrow('unavailable');
});
