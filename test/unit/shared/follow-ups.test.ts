import { expect, test } from 'vitest';
import type { CaptureRecord, CaptureRefresh, WebhookDelivery } from '@webcapture/shared/captures/capture-record.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import type { Task } from '@webcapture/shared/queue/tasks.ts';
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
const notice = {
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

/** Tasks with the time that each was scheduled for, or `now`. */
async function arrange(changes: Partial<CaptureRecord>): Promise<readonly (readonly [Task, number | 'now'])[]> {
  const handed: [Task, number | 'now'][] = [];
  const followUps = new FollowUps(
    {
      publish: async (task) => void handed.push([task, 'now']),
      schedule: async (task, at) => void handed.push([task, at]),
    },
    { add: async ({ account, uuid: of }, at) => void handed.push([{ kind: 'expiry', account, uuid: of }, at]) },
  );
  await followUps.arrange(newRecord({ uuid, expiresAt: 9000, ...changes }));
  return handed;
}

const outcome = newOutcome();

test.each<[string, Partial<CaptureRecord>, unknown[]]>([
  ['queued', {}, []],
  ['rendering', { status: 'rendering' }, []],
  ['completed', { status: 'completed', outcome }, [[expiry, 9000]]],
  [
    'completed, to be refreshed',
    { status: 'completed', outcome, nextRefreshAt: 5000 },
    [
      [expiry, 9000],
      [refreshTask, 5000],
    ],
  ],
  [
    'completed, to be told',
    { status: 'completed', outcome, webhook: pending },
    [
      [expiry, 9000],
      [notice, 'now'],
    ],
  ],
  [
    'completed, to be told again',
    { status: 'completed', outcome, webhook: { ...pending, redelivery: 2 } },
    [
      [expiry, 9000],
      [{ ...notice, redelivery: 2 }, 'now'],
    ],
  ],
  ['completed, being told already', { status: 'completed', webhook: { ...pending, attempts: 1 } }, [[expiry, 9000]]],
  ['completed, told', { status: 'completed', webhook: { ...pending, state: 'delivered' } }, [[expiry, 9000]]],
  ['failed', { status: 'failed' }, [[expiry, 'now']]],
  [
    'failed, to be told',
    { status: 'failed', webhook: pending },
    [
      [expiry, 'now'],
      [notice, 'now'],
    ],
  ],
  [
    'failed before it began, and leaves nothing',
    { status: 'failed', failure: { code: 'CAPTURE_FAILED', message: 'Gone.', cause: 'service', cancelled: true } },
    [],
  ],
  // The entry of the capture is put off when the leader comes to it.
  ['completed, and refreshed', { status: 'completed', outcome, refresh, nextRefreshAt: 5000 }, [[refreshTask, 5000]]],
  ['expired', { status: 'expired', nextRefreshAt: 5000 }, []],
  ['deleted', { status: 'deleted', nextRefreshAt: 5000 }, [[expiry, 'now']]],
  ['waiting for something to tell', { webhook: { url: pending.url, state: 'waiting', attempts: 0 } }, []],
])('a capture that is %s', async (_name, changes, tasks) => {
  expect(await arrange(changes)).toEqual(tasks);
});

test('what cannot be handed over is told to the caller', async () => {
  const away = async () => Promise.reject(new Error('away'));
  const followUps = new FollowUps({ publish: away, schedule: away }, { add: away });
  await expect(followUps.arrange(newRecord({ status: 'completed' }))).rejects.toThrow('away');
});
