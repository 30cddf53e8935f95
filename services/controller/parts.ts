import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import { Accounts } from '@webcapture/shared/state/accounts.ts';
import { AccountUsage } from '@webcapture/shared/state/account-usage.ts';
import { Admissions } from '@webcapture/shared/state/admissions.ts';
import { Cache } from '@webcapture/shared/state/cache.ts';
import { Captures } from '@webcapture/shared/state/captures.ts';
import { clearAway } from '@webcapture/shared/state/clear-away.ts';
import { ExpiryIndex } from '@webcapture/shared/state/expiry-index.ts';
import { Fleet } from '@webcapture/shared/state/fleet.ts';
import { FollowUps } from '@webcapture/shared/state/follow-ups.ts';
import { Jobs } from '@webcapture/shared/state/jobs.ts';
import { Tasks } from '@webcapture/shared/state/tasks.ts';
import { Tickets } from '@webcapture/shared/state/tickets.ts';
import { WebhookSecrets } from '@webcapture/shared/state/webhook-secrets.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { removeHtml } from '@webcapture/shared/storage/html-parcel.ts';
import { createHeartbeatFaults } from '@webcapture/shared/telemetry/heartbeat-faults.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { Applier } from './apply/applier.ts';
import type { LatestReading } from './apply/latest-reading.ts';
import { ControllerMetrics } from './apply/metrics.ts';
import { Provisioner } from './apply/provisioner.ts';
import { StatusWriter } from './apply/status-writer.ts';
import { CanaryBook } from './chores/canary-book.ts';
import { AuditMetrics } from './chores/record-audit.ts';
import { Settler } from './chores/settler.ts';
import type { ControllerConfig } from './config.ts';
import { Gatherer } from './gather/gatherer.ts';
import { StorageProbe } from './gather/storage-probe.ts';
import { Clusters } from './kube/clusters.ts';
import { Lease } from './leader/lease.ts';
import { leaderHolder, ReconcileClaim } from './reconcile/claim.ts';
import { ReconcileMetrics } from './reconcile/metrics.ts';
import { ReconcileProgress } from './reconcile/progress.ts';
import type { ControllerTimes } from './times.ts';
import { ReceiverLimits } from './webhooks/receiver-limits.ts';
import { WebhookMetrics } from './webhooks/metrics.ts';

/** Everything that a controller is made of, not yet moving. */
export type ControllerParts = ReturnType<typeof buildParts>;

export interface BuildContext {
  readonly config: ControllerConfig;
  readonly times: ControllerTimes;
  readonly session: NatsSession;
  readonly store: FileStore;
  readonly registry: Registry;
  readonly log: Logger;
  readonly latest: LatestReading;
}

export function buildParts({ config, times, session, store, registry, log, latest }: BuildContext) {
  const regions = config.regions.map(({ region }) => region);
  const live = new Entries(session, 'live');
  const fleet = new Fleet(undefined, createHeartbeatFaults(registry, log));
  const captures = new Captures(session);
  const tasks = new Tasks(session);
  const cache = new Cache(session);
  const usage = new AccountUsage(session);
  const { now } = session;
  const expiryIndex = new ExpiryIndex(session, now);
  const receivers = new ReceiverLimits(now);
  const storage = new StorageProbe(store, { log, now });
  const book = new CanaryBook(live, config.canaryIntervalMs);
  const metrics = new ControllerMetrics(registry);
  // Unique to this process: a successor under the same name is another candidate.
  const holder = `${config.pod}/${randomUUID()}`;
  const lease = new Lease(live, holder, times.lease);
  const clusters = new Clusters(config.kubernetes !== null);
  const writer = new StatusWriter(live, lease);
  return {
    config,
    times,
    session,
    inbox: new PullInbox(session),
    log,
    latest,
    regions,
    live,
    fleet,
    clusters,
    holder,
    registry,
    captures,
    jobs: new Jobs(session, new Tickets(session)),
    store,
    storage,
    book,
    lease,
    provisioner: new Provisioner(session, config.streams, regions, log),
    gatherer: new Gatherer({
      session,
      streams: config.streams,
      regions: config.regions,
      fleet,
      storage,
      clusters,
      canaries: book,
    }),
    applier: new Applier({ lease, writer, metrics, log, statusMs: times.statusMs }),
    settler: new Settler(session, { captures, followUps: new FollowUps(tasks, expiryIndex), metrics, log }),
    metrics,
    tasks,
    expiryIndex,
    now,
    accounts: new Accounts(session),
    secrets: new WebhookSecrets(session),
    webhookMetrics: new WebhookMetrics(registry, () => receivers.unavailable),
    receivers,
    policy: createEgressPolicy({ allow: config.egressAllow, deny: config.egressDeny }),
    admissions: new Admissions(session, {
      readUsage: (account, now, precision) => usage.read(account, now, precision),
      bookedOf: (account, holds) => usage.bookedOf(account, holds),
    }),
    progress: new ReconcileProgress(live),
    claim: new ReconcileClaim(live, leaderHolder),
    reconcileMetrics: new ReconcileMetrics(registry),
    auditMetrics: new AuditMetrics(registry),
    clearAway: (record: CaptureRecord) =>
      clearAway(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }),
  };
}
