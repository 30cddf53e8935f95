// @module-tag long
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import { captureKey, Captures } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { createMetrics } from '@webcapture/shared/runtime/ops-server.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { deliverWebhook } from '../../../services/controller/jobs/webhooks/deliver.ts';
import type { DeliveryLog } from '../../../services/controller/jobs/webhooks/delivery-log.ts';
import { runTasks } from '../../../services/controller/jobs/tasks.ts';
import { createWebhookMetrics } from '../../../services/controller/jobs/webhooks/deliver.ts';
import { maxDeliveries, ReceiverLimits } from '../../../services/controller/jobs/webhooks/receiver-limits.ts';
import { fake } from '../../harness/fake.ts';
import { silentLog, startTestNats, type TestNats } from '../../harness/nats-session.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';
import { until } from '../../harness/until.ts';
import { publicAddress, startTcp, type Site } from '../egress/sites.ts';
import { startReceiver, type Receiver } from './receiver.ts';

let nats: TestNats;
const sites: Site[] = [];
const leading: { readonly aborter: AbortController; readonly ended: Promise<void> }[] = [];
beforeAll(async () => {
  nats = await startTestNats(['us-east']);
});
/** Timeout of an attempt, instead of 10 s. It is long enough for an attempt to count as hanging. */
const attemptMs = 6000;

beforeEach(async () => {
  await nats.session.jsm.streams.purge(streamNames.tasks);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms === 10_000 ? attemptMs : ms));
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const { aborter, ended } of leading.splice(0)) {
    aborter.abort(new Error('the term is over'));
    await ended;
  }
  await Promise.all(sites.splice(0).map((site) => site.close()));
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Delivers events as the leader does, until the test ends. */
function lead(): ReceiverLimits {
  const { session } = nats;
  const aborter = new AbortController();
  const term = { signal: aborter.signal, holds: () => !aborter.signal.aborted };
  const registry = createMetrics('test');
  const receivers = new ReceiverLimits();
  const inbox = new PullInbox(session);
  const parts = {
    captures: new Captures(session),
    batches: new Batches(session),
    readItems: async () => [],
    tasks: new Tasks(session),
    secrets: new WebhookSecrets(session),
    policy: createEgressPolicy({ allow: [`${publicAddress}/32`], deny: [] }),
    webhookMetrics: createWebhookMetrics(registry, () => receivers.unavailable),
    deliveryLog: fake<DeliveryLog>({ note: () => undefined }),
    receivers,
    cdnUrl: 'https://cdn.test',
    log: silentLog,
    now: Date.now,
  };
  const work = {
    kind: 'webhook',
    parallel: maxDeliveries,
    run: (task: Parameters<typeof deliverWebhook>[0]) => deliverWebhook(task, parts, term),
  } as const;
  const ended = runTasks(work, { inbox, metrics: createControllerMetrics(registry), log: silentLog }, term);
  leading.push({ aborter, ended });
  return receivers;
}

/** A receiver that accepts connections and never responds. */
interface DeadSite extends Site {
  /** Maximum number of connections that were open at the same time. */
  readonly maxOpen: () => number;
}

async function startDead(): Promise<DeadSite> {
  let open = 0;
  let maxOpen = 0;
  const site = await startTcp(publicAddress, (socket) => {
    maxOpen = Math.max(maxOpen, ++open);
    socket
      .resume()
      .on('end', () => socket.end())
      .on('close', () => open--);
  });
  sites.push(site);
  return { ...site, maxOpen: () => maxOpen };
}

async function startLive(): Promise<Receiver> {
  const receiver = await startReceiver(publicAddress);
  sites.push(receiver);
  return receiver;
}

/** Creates a capture of the account with an event for its webhook. */
async function tell(account: string, { port }: Site): Promise<CaptureRecord> {
  const url = `http://${publicAddress}:${port}/`;
  const occurredAt = Date.now();
  const webhook = { url, state: 'pending', event: 'capture.completed', revision: 0, occurredAt, attempts: 0 } as const;
  const record = newRecord({ account, status: 'completed', outcome: newOutcome(), webhook });
  await nats.session.js.publish(`$KV.db.${captureKey(account, record.uuid)}`, JSON.stringify(record));
  await new FollowUps(new Tasks(nats.session), new ExpiryIndex(nats.session)).schedule(record);
  return record;
}

describe.each([4, 40])('%i accounts whose receivers never respond', (count) => {
  test('do not delay events of other accounts', async () => {
    const dead = await Promise.all(Array.from({ length: count }, startDead));
    for (let round = 0; round < 240 / count + 8; round++) {
      await Promise.all(dead.map((site, index) => tell(`dead-${count}-${index}`, site)));
    }
    const receivers = lead();
    await until('each of them to be tried', () => dead.every((site) => site.connections() > 0));
    const live = await startLive();
    for (let event = 1; event <= 5; event++) {
      const startedAt = performance.now();
      await tell(`live-${count}`, live);
      await until('the event to be delivered', () => live.received.length === event);
      // The delivery took less time than one attempt at a hanging receiver.
      expect(performance.now() - startedAt).toBeLessThan(attemptMs);
    }
    await until('them to be known as unavailable', () => receivers.unavailable === count);
    expect(Math.max(...dead.map((site) => site.maxOpen()))).toBeLessThanOrEqual(2);
    const startedAt = performance.now();
    await tell(`live-${count}`, live);
    await until('the event to be delivered', () => live.received.length === 6);
    expect(performance.now() - startedAt).toBeLessThan(attemptMs);
  });
});

test('a responsive receiver gets many events concurrently', async () => {
  // With the normal timeout, no event would be late. A late event would be sent twice.
  vi.restoreAllMocks();
  lead();
  const live = await startLive();
  const records = await Promise.all(Array.from({ length: 300 }, () => tell('busy', live)));
  await until('all to be delivered', () => live.received.length >= records.length);
  const told = new Set(live.received.map(({ body }) => (JSON.parse(body) as { data: { uuid: string } }).data.uuid));
  expect(told).toEqual(new Set(records.map(({ uuid }) => uuid)));
  expect(live.received).toHaveLength(records.length);
});
