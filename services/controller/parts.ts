import { randomUUID } from 'node:crypto';
import type { Registry } from 'prom-client';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import { createHeartbeatFaults, Fleet } from '@webcapture/shared/queue/fleet.ts';
import { removeCaptureFiles, FollowUps } from '@webcapture/shared/queue/follow-ups.ts';
import { Jobs } from '@webcapture/shared/queue/jobs.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerConfig } from './config.ts';
import { ClusterReports } from './health/cluster-reports.ts';
import { Collector } from './health/collector.ts';
import type { LatestReading } from './health/facts.ts';
import { ControllerMetrics } from './health/metrics.ts';
import { Publisher, StatusWriter } from './health/publisher.ts';
import { StorageProbe } from './health/storage-probe.ts';
import { AuditMetrics } from './jobs/audit.ts';
import { CanaryResults } from './jobs/canary-rounds.ts';
import { OrphanMetrics } from './jobs/orphans/collection.ts';
import { leaderHolder, OrphanCollectionLease, OrphanCollectionProgress } from './jobs/orphans/state.ts';
import { Provisioner } from './jobs/provisioner.ts';
import { Settler } from './jobs/settler.ts';
import { WebhookMetrics } from './jobs/webhooks/metrics.ts';
import { ReceiverLimits } from './jobs/webhooks/receiver-limits.ts';
import { Lease } from './leader/lease.ts';
import { NatsLeaseStore } from './leader/nats-lease.ts';
import type { ControllerTimes } from './times.ts';

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
  const canaryResults = new CanaryResults(live, config.canaryIntervalMs);
  const metrics = new ControllerMetrics(registry);
  // Unique to this process: a successor under the same name is another candidate.
  const holder = `${config.pod}/${randomUUID()}`;
  const lease = new Lease(new NatsLeaseStore(live, times.lease), holder, times.lease);
  const clusters = new ClusterReports(config.kubernetes !== null);
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
    canaryResults,
    lease,
    provisioner: new Provisioner(session, config.streams, regions, log),
    collector: new Collector({
      session,
      streams: config.streams,
      regions: config.regions,
      fleet,
      storage,
      clusters,
      canaries: canaryResults,
    }),
    publisher: new Publisher({ lease, writer, metrics, log, statusMs: times.statusMs }),
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
    admissions: new Limiter(session, usage),
    progress: new OrphanCollectionProgress(live),
    collectionLease: new OrphanCollectionLease(live, leaderHolder),
    orphanMetrics: new OrphanMetrics(registry),
    auditMetrics: new AuditMetrics(registry),
    removeCaptureFiles: (record: CaptureRecord) =>
      removeCaptureFiles(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }),
  };
}
