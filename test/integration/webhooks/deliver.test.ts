import { Registry } from 'prom-client';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { redeliver } from '@webcapture/shared/captures/transitions.ts';
import { pendingDelivery } from '@webcapture/shared/queue/follow-ups.ts';
import type { Tasks } from '@webcapture/shared/queue/tasks.ts';
import {
  attemptDelivery,
  attemptOffsets,
  type AttemptDeps,
  deliverWebhook,
  type DeliveryTask,
} from '../../../services/controller/jobs/webhooks/deliver.ts';
import { createWebhookMetrics } from '../../../services/controller/jobs/webhooks/deliver.ts';
import { ReceiverLimits } from '../../../services/controller/jobs/webhooks/receiver-limits.ts';
import { sendEvent } from '../../../services/controller/jobs/webhooks/send.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { publicAddress } from '../egress/sites.ts';
import { startReceiver, status, type Received, type Receiver } from './receiver.ts';

let nats: TestNats;
let secrets: WebhookSecrets;
let captures: Captures;
let metrics: Registry;
let deps: AttemptDeps;
let clock = 0;
/** The current time, while the clock is stopped. */
let stopped: number | undefined;
const now = () => stopped ?? Date.now() + clock;

beforeAll(async () => {
  nats = await startTestNats(['us-east']);
  secrets = new WebhookSecrets(nats.session);
  captures = new Captures(nats.session);
  metrics = new Registry();
  const policy = createEgressPolicy({ allow: [`${publicAddress}/32`] });
  deps = {
    captures,
    batches: new Batches(nats.session),
    readItems: async () => [],
    secrets,
    send: (url, event) => sendEvent(url, event, { policy }),
    cdnUrl: 'https://cdn.test',
    webhookMetrics: createWebhookMetrics(metrics, () => 0),
    deliveryLog: fake({ note: () => undefined }),
    log: silentLog,
    now,
  };
});
afterAll(() => nats[Symbol.asyncDispose]());

const receivers: Receiver[] = [];
afterEach(async () => {
  clock = 0;
  stopped = undefined;
  for (const each of receivers.splice(0)) await each.close();
});
const receiver: typeof startReceiver = async (...args) => {
  const started = await startReceiver(...args);
  receivers.push(started);
  return started;
};

/** A completed capture with an event for this address. */
async function completedCapture(url: string, changes: Partial<CaptureRecord> = {}): Promise<DeliveryTask> {
  const occurredAt = now();
  const event = 'capture.completed';
  const record = newRecord({
    account: `account-${Math.random().toString(36).slice(2)}`,
    status: 'completed',
    outcome: newOutcome(),
    endedAt: occurredAt,
    webhook: { url, state: 'pending', event, revision: 0, occurredAt, attempts: 0 },
    ...changes,
  });
  await captures.create(record);
  const { account, uuid } = record;
  return { account, uuid, revision: 0, event, occurredAt, attempt: 1, firstAt: occurredAt };
}

const delivery = async ({ account, uuid }: DeliveryTask) => (await captures.get(account, uuid))?.value.webhook;

const signedBy = (secret: string, { headers, body }: Received) => {
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>) !== undefined;
  } catch {
    return false;
  }
};

async function countOf(event: string, outcome: string): Promise<number> {
  const { values } = (await metrics.getSingleMetric('webcapture_webhook_attempts_total')?.get()) ?? { values: [] };
  const found = values.find(({ labels }) => labels['event'] === event && labels['outcome'] === outcome);
  return found?.value ?? NaN;
}

test('an event is delivered, signed with the secret of the account, and recorded', async () => {
  const site = await receiver(publicAddress, status(200));
  const url = `http://${publicAddress}:${site.port}/hook`;
  const task = await completedCapture(url);
  const before = await countOf('capture.completed', 'delivered');
  expect(await attemptDelivery(task, deps)).toEqual({ done: true });

  const [had] = site.received as [Received];
  const { secret } = await secrets.get(task.account);
  expect(new Webhook(secret).verify(had.body, had.headers as Record<string, string>)).toMatchObject({
    type: 'capture.completed',
    timestamp: new Date(task.occurredAt).toISOString(),
    data: { uuid: task.uuid, status: 'completed', report: { httpStatus: 200 } },
  });
  expect(await delivery(task)).toEqual({
    url,
    state: 'delivered',
    event: 'capture.completed',
    revision: 0,
    occurredAt: task.occurredAt,
    attempts: 1,
    lastAttemptAt: expect.any(Number),
    lastStatus: 200,
  });
  expect(await countOf('capture.completed', 'delivered')).toBe(before + 1);
});

test('during the grace period of a rotation both secrets verify, afterwards only the new one', async () => {
  const site = await receiver(publicAddress);
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
  const old = await secrets.get(task.account);
  await attemptDelivery(task, deps);
  const next = await secrets.rotate(task.account, 60_000, now());
  const again = (revision: number) => attemptDelivery({ ...task, revision }, deps);
  await again(1);
  clock = 61_000;
  await again(2);
  const verified = site.received.map((had) => [signedBy(old.secret, had), signedBy(next.secret, had)]);
  expect(verified).toEqual([
    [true, false],
    [true, true],
    [false, true],
  ]);
});

test('eight attempts over 24 hours have one id, and the last one fails the delivery', async () => {
  stopped = Date.now();
  const site = await receiver(publicAddress, status(503));
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
  const [retried, given] = [await countOf(task.event, 'retried'), await countOf(task.event, 'given_up')];
  const dueAfter: number[] = [];
  let next = task;
  for (;;) {
    dueAfter.push(now() - task.firstAt);
    const result = await attemptDelivery(next, deps);
    const known = await delivery(task);
    expect(known).toMatchObject({ attempts: next.attempt, lastStatus: 503, lastError: 'status 503' });
    if ('done' in result) break;
    expect(result.attempt).toBe(next.attempt + 1);
    expect(known).toMatchObject({ state: 'pending', nextAttemptAt: result.againAt });
    stopped = result.againAt;
    next = { ...next, attempt: result.attempt };
  }
  const final = await delivery(task);
  expect(final).toMatchObject({ state: 'failed', attempts: 8 });
  expect(final).not.toHaveProperty('nextAttemptAt');
  expect(site.received).toHaveLength(8);
  expect(new Set(site.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  const times = site.received.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(new Set(times).size).toBe(8);
  expect(dueAfter).toEqual(attemptOffsets);
  expect(await countOf(task.event, 'retried')).toBe(retried + 7);
  expect(await countOf(task.event, 'given_up')).toBe(given + 1);
});

test('a success after a failure removes the failure from the record', async () => {
  let code = 500;
  const site = await receiver(publicAddress, (response, request) => status(code)(response, request));
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
  expect(await attemptDelivery(task, deps)).toMatchObject({ attempt: 2 });
  code = 204;
  expect(await attemptDelivery({ ...task, attempt: 2 }, deps)).toEqual({ done: true });
  const known = await delivery(task);
  expect(known).toMatchObject({ state: 'delivered', attempts: 2, lastStatus: 204 });
  expect(known).not.toHaveProperty('lastError');
  expect(known).not.toHaveProperty('nextAttemptAt');
});

test('an attempt without a response removes the status of the previous one', async () => {
  const site = await startReceiver(publicAddress, status(500));
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
  await attemptDelivery(task, deps);
  await site.close();
  await attemptDelivery({ ...task, attempt: 2 }, deps);
  const known = await delivery(task);
  expect(known).toMatchObject({ state: 'pending', attempts: 2, lastError: 'connection refused' });
  expect(known).not.toHaveProperty('lastStatus');
});

test('status 410 ends the delivery at once', async () => {
  const site = await receiver(publicAddress, status(410));
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
  expect(await attemptDelivery(task, deps)).toEqual({ done: true });
  expect(await delivery(task)).toMatchObject({ state: 'failed', attempts: 1, lastStatus: 410 });
});

test('an attempt refused by the egress policy is recorded and retried, as the policy may change', async () => {
  const task = await completedCapture('http://127.0.0.1:8080/');
  expect(await attemptDelivery(task, deps)).toMatchObject({ attempt: 2 });
  expect(await delivery(task)).toMatchObject({ state: 'pending', lastError: 'refused by the egress policy' });
});

describe('nothing is sent', () => {
  const cases: [string, (url: string) => Promise<DeliveryTask>][] = [
    ['when the capture is gone', async (url) => ({ ...(await completedCapture(url)), uuid: newRecord().uuid })],
    ['when the capture was deleted', (url) => completedCapture(url, { status: 'deleted' })],
    ['when the capture has no webhook', async () => completedWithoutWebhook()],
  ];
  test.each(cases)('%s', async (_name, make) => {
    const site = await receiver(publicAddress);
    const task = await make(`http://${publicAddress}:${site.port}/`);
    expect(await attemptDelivery(task, deps)).toEqual({ done: true });
    expect(site.connections()).toBe(0);
  });

  async function completedWithoutWebhook(): Promise<DeliveryTask> {
    const { webhook: _, ...record } = newRecord({ status: 'completed', outcome: newOutcome() });
    await captures.create(record);
    const { account, uuid } = record;
    return { account, uuid, revision: 0, event: 'capture.completed', occurredAt: 0, attempt: 1, firstAt: 0 };
  }
});

test('the event of a capture is sent even if its file has expired', async () => {
  const site = await receiver(publicAddress);
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`, { status: 'expired' });
  expect(await attemptDelivery(task, deps)).toEqual({ done: true });
  expect(JSON.parse(site.received[0]?.body ?? '')).toMatchObject({ data: { status: 'expired' } });
});

describe('a task that is delivered twice', () => {
  test('is not attempted twice if the record has the attempt', async () => {
    const site = await receiver(publicAddress, status(500));
    const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
    const first = await attemptDelivery(task, deps);
    expect(await attemptDelivery(task, deps)).toEqual(first);
    expect(site.received).toHaveLength(1);
  });

  test('is done if the event was delivered or the delivery failed', async () => {
    for (const code of [200, 410]) {
      const site = await receiver(publicAddress, status(code));
      const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
      await attemptDelivery(task, deps);
      expect(await attemptDelivery(task, deps)).toEqual({ done: true });
      expect(site.received).toHaveLength(1);
    }
  });

  test('is attempted again under the same id if the attempt could not be recorded', async () => {
    const site = await receiver(publicAddress);
    const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
    const before = await countOf(task.event, 'delivered');
    const unavailable = () => Promise.reject(new Error('NATS is unavailable'));
    const lost = { ...deps, captures: fake<Captures>({ get: captures.get.bind(captures), change: unavailable }) };
    await expect(attemptDelivery(task, lost)).rejects.toThrow('NATS is unavailable');
    expect(await countOf(task.event, 'delivered')).toBe(before);
    expect(await attemptDelivery(task, deps)).toEqual({ done: true });
    expect(await countOf(task.event, 'delivered')).toBe(before + 1);
    expect(site.received).toHaveLength(2);
    expect(site.received[0]?.headers['webhook-id']).toBe(site.received[1]?.headers['webhook-id']);
  });
});

describe('a redelivery', () => {
  /** Requests a redelivery during an attempt. */
  const redeliverDuring = async (task: DeliveryTask) => {
    const send: AttemptDeps['send'] = async (...args) => {
      await captures.change(task, redeliver);
      return deps.send(...args);
    };
    return attemptDelivery(task, { ...deps, send });
  };
  const redeliveryOf = async ({ account, uuid }: DeliveryTask): Promise<DeliveryTask> => {
    const record = (await captures.get(account, uuid))?.value;
    const task = record === undefined ? null : pendingDelivery(record);
    if (task === null) throw new Error('nothing is to be delivered');
    return task;
  };

  test('has all attempts, even if requested during the last attempt of the previous delivery', async () => {
    const site = await receiver(publicAddress, status(500));
    const url = `http://${publicAddress}:${site.port}/`;
    const webhook = { url, state: 'pending', event: 'capture.completed', revision: 0, attempts: 7 } as const;
    const task = { ...(await completedCapture(url, { webhook: { ...webhook, occurredAt: now() } })), attempt: 8 };
    expect(await redeliverDuring(task)).toMatchObject({ attempt: 1, redelivery: 1 });
    expect(await delivery(task)).toMatchObject({ state: 'pending', redelivery: 1, attempts: 0 });

    const again = await redeliveryOf(task);
    expect(again).toMatchObject({ attempt: 1, redelivery: 1 });
    expect(await attemptDelivery(again, deps)).toMatchObject({ attempt: 2 });
    expect(await delivery(task)).toMatchObject({ state: 'pending', redelivery: 1, attempts: 1 });
    expect(site.received).toHaveLength(2);
    const history = (await captures.get(task.account, task.uuid))?.value.deliveryHistory;
    expect(history?.map(({ attempt, state }) => [attempt, state])).toEqual([
      [1, 'retrying'],
      [8, 'failed'],
    ]);
  });

  test('is sent even if an attempt of the previous delivery succeeds during its request', async () => {
    const site = await receiver(publicAddress);
    const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
    const again = await redeliverDuring(task);
    expect(await attemptDelivery(await redeliveryOf(task), deps)).toEqual({ done: true });
    expect(await delivery(task)).toMatchObject({ state: 'delivered', redelivery: 1, attempts: 1 });
    expect(await attemptDelivery({ ...task, ...again }, deps)).toEqual({ done: true });
    expect(site.received).toHaveLength(2);
  });

  test('without a task is sent by the remaining task of the previous delivery', async () => {
    stopped = Date.now();
    const site = await receiver(publicAddress, status(500));
    const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
    await attemptDelivery(task, deps);
    await captures.change(task, redeliver);
    const scheduled: Parameters<Tasks['schedule']>[] = [];
    const schedule: Tasks['schedule'] = async (...args) => void scheduled.push(args);
    const due = {
      tasks: fake<Tasks>({ schedule }),
      policy: createEgressPolicy({ allow: [] }),
      receivers: new ReceiverLimits(now),
    };
    const { signal } = new AbortController();
    const left = { kind: 'webhook', ...task, attempt: 2, receiver: `${publicAddress}:${site.port}` } as const;
    await deliverWebhook(left, { ...deps, ...due }, { signal });
    expect(site.received).toHaveLength(1);
    const [[again, at] = []] = scheduled;
    expect([again, at]).toEqual([{ ...left, attempt: 1, redelivery: 1, firstAt: now() }, now() + 15_000]);
    expect(await attemptDelivery(again as DeliveryTask, deps)).toMatchObject({ attempt: 2 });
    expect(await delivery(task)).toMatchObject({ state: 'pending', redelivery: 1, attempts: 1 });
    // Later copies of this task follow the attempts of the redelivery.
    const nextAt = (await delivery(task))?.nextAttemptAt;
    expect(await attemptDelivery({ ...task, attempt: 3 }, deps)).toEqual({
      againAt: nextAt,
      attempt: 2,
      redelivery: 1,
      firstAt: now(),
    });
    expect(site.received).toHaveLength(2);
  });
});

test('an earlier event is sent, and does not change the record of a later one', async () => {
  const site = await receiver(publicAddress);
  const url = `http://${publicAddress}:${site.port}/`;
  const later = {
    url,
    state: 'delivered',
    event: 'capture.refreshed',
    revision: 1,
    occurredAt: 1,
    attempts: 1,
  } as const;
  const task = await completedCapture(url, { webhook: later });
  expect(await attemptDelivery(task, deps)).toEqual({ done: true });
  expect(site.received).toHaveLength(1);
  expect(await delivery(task)).toEqual(later);
});

test('nothing is sent, and the task is retried, while the record or the secret cannot be read', async () => {
  const site = await receiver(publicAddress);
  const task = await completedCapture(`http://${publicAddress}:${site.port}/`);
  const unavailable = () => Promise.reject(new Error('NATS is unavailable'));
  await expect(
    attemptDelivery(task, { ...deps, captures: fake({ get: unavailable, change: unavailable }) }),
  ).rejects.toThrow('NATS is unavailable');
  await expect(attemptDelivery(task, { ...deps, secrets: fake({ get: unavailable }) })).rejects.toThrow(
    'NATS is unavailable',
  );
  expect(site.connections()).toBe(0);
  expect(await delivery(task)).toMatchObject({ state: 'pending', attempts: 0 });
});
