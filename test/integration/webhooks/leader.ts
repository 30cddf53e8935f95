import { Registry } from 'prom-client';
import { Deliveries } from '@webcapture/shared/accounts/deliveries.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import { readBatchItems } from '@webcapture/shared/captures/batch-state.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { createControllerMetrics } from '../../../services/controller/health/metrics.ts';
import { lookAtBatch } from '../../../services/controller/jobs/batches.ts';
import { runTasks, type TaskWork } from '../../../services/controller/jobs/tasks.ts';
import { createWebhookMetrics, deliverWebhook } from '../../../services/controller/jobs/webhooks/deliver.ts';
import { DeliveryLog } from '../../../services/controller/jobs/webhooks/delivery-log.ts';
import { ReceiverLimits } from '../../../services/controller/jobs/webhooks/receiver-limits.ts';
import { silentLog } from '../../harness/nats-session.ts';

/** Checks batches and delivers webhooks as the leader does, until the returned function is called. `allow` is a range of addresses. */
export function leadDeliveries(session: NatsSession, allow: string): () => Promise<void> {
  const aborter = new AbortController();
  const term = { signal: aborter.signal, holds: () => !aborter.signal.aborted };
  const registry = new Registry();
  const { now } = session;
  const parts = {
    captures: new Captures(session),
    batches: new Batches(session),
    readItems: (batch: BatchRecord) => readBatchItems(session, batch, now()),
    tasks: new Tasks(session),
    secrets: new WebhookSecrets(session),
    policy: createEgressPolicy({ allow: [allow] }),
    webhookMetrics: createWebhookMetrics(registry, () => 0),
    deliveryLog: new DeliveryLog(new Deliveries(session)),
    receivers: new ReceiverLimits(),
    cdnUrl: 'https://cdn.test',
    log: silentLog,
    now,
  };
  const inbox = new PullInbox(session);
  const deps = { inbox, metrics: createControllerMetrics(registry), log: silentLog };
  const deliver: TaskWork<'webhook'> = {
    kind: 'webhook',
    parallel: 4,
    run: (task) => deliverWebhook(task, parts, term),
  };
  const look: TaskWork<'batch'> = { kind: 'batch', parallel: 4, run: (task) => lookAtBatch(task, parts) };
  const ended = Promise.all([runTasks(deliver, deps, term), runTasks(look, deps, term)]);
  const flushes = setInterval(() => void parts.deliveryLog.flushAll(), 50);
  return async () => {
    clearInterval(flushes);
    aborter.abort();
    inbox.close();
    await ended;
  };
}
