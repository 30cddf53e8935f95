import type { Registry } from 'prom-client';
import { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { Deliveries } from '@webcapture/shared/accounts/deliveries.ts';
import { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { WebhookSecrets } from '@webcapture/shared/accounts/webhook-secrets.ts';
import { Cache } from '@webcapture/shared/captures/cache.ts';
import type { BatchRecord } from '@webcapture/shared/captures/batch-record.ts';
import { readBatchItems } from '@webcapture/shared/captures/batch-state.ts';
import { Batches } from '@webcapture/shared/captures/batches.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { ExpiryIndex } from '@webcapture/shared/captures/expiry-index.ts';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { openUpstream } from '@webcapture/shared/egress/upstream.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import { removeHtml } from '@webcapture/shared/files/stored-html.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import { PullInbox } from '@webcapture/shared/nats/pull-inbox.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { FollowUps, removeCaptureFiles } from '@webcapture/shared/queue/follow-ups.ts';
import { Jobs, sendSignal } from '@webcapture/shared/queue/jobs.ts';
import { createStatisticsMetrics, Statistics, statisticsIntervalMs } from '@webcapture/shared/statistics/statistics.ts';
import { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import { Tasks } from '@webcapture/shared/queue/tasks.ts';
import { Tickets } from '@webcapture/shared/queue/tickets.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ControllerConfig } from './config.ts';
import type { LatestReading } from './health/facts.ts';
import type { ControllerMetrics } from './health/metrics.ts';
import type { StatusHistory } from './health/status-history.ts';
import { type CanaryResults, canaryRounds } from './jobs/canary.ts';
import { expireCapture, ExpirySweep } from './jobs/expiry.ts';
import { refreshCapture } from './jobs/refresh.ts';
import { createStreamMetrics, forgetStreams, measureStreams, streamSizesIntervalMs } from './jobs/stream-sizes.ts';
import { runTasks } from './jobs/tasks.ts';
import { lookAtBatch } from './jobs/batches.ts';
import { createWebhookMetrics, deliverWebhook } from './jobs/webhooks/deliver.ts';
import { DeliveryLog } from './jobs/webhooks/delivery-log.ts';
import { maxDeliveries, ReceiverLimits } from './jobs/webhooks/receiver-limits.ts';
import type { Term } from './leader/election.ts';
import { repeat } from './loops.ts';
import type { Provisioner } from './provisioner.ts';
import { auditIfDue, createAuditMetrics } from './recovery/audit.ts';
import { settleDeadLetters } from './recovery/dead-letters.ts';
import { DeadRenderers, deadRenderersIntervalMs } from './recovery/dead-renderers.ts';
import { createFailCapture } from './recovery/fail-capture.ts';
import { recoverLostJob } from './recovery/lost-jobs.ts';
import { OverdueSweep } from './recovery/overdue-sweep.ts';
import { RetiredRegions, retiredRegionsIntervalMs } from './recovery/retired-regions.ts';
import type { ControllerTimes } from './times.ts';

/** Interval at which delivery attempts are written, and the time limit of the last write at the end of a term. */
const deliveryLogIntervalMs = 1000;
const lastFlushMs = 1000;

/** Interval at which the leader checks whether an audit is due. */
const auditCheckMs = 60_000;

/** Interval at which the leader checks whether a component's history has changes to write. */
const historyCheckMs = 1000;

/** Interval of signals. It is far shorter than the minute after which a renderer without signals checks every shard itself. */
const regionSignalsIntervalMs = 5000;

/** The parts of the process that the leader of the fleet shares. */
export interface LeaderParts {
  readonly config: ControllerConfig;
  readonly times: ControllerTimes;
  readonly session: NatsSession;
  readonly store: FileStore;
  readonly live: Entries;
  readonly fleet: Fleet;
  readonly latest: LatestReading;
  readonly history: StatusHistory;
  readonly canaryResults: CanaryResults;
  readonly provisioner: Provisioner;
  readonly metrics: ControllerMetrics;
  readonly registry: Registry;
  readonly log: Logger;
}

/**
 * Builds the leader's jobs, which all terms of this process share. The returned function runs for one term everything that must run once in
 * the fleet. It resolves soon after the term's signal and never throws.
 */
export function createFleetLeader(parts: LeaderParts): (term: Term) => Promise<void> {
  const jobs = buildJobs(parts);
  return async (term) => {
    await Promise.all([runPeriodicJobs(jobs, term), doTasks(jobs, term)]);
    // Write the remaining entries. A process that does not lead may do that too.
    const rest = Promise.all([jobs.deliveryLog.flushAll(), jobs.statistics.flush()]);
    await withDeadline(rest, lastFlushMs, 'writing delivery attempts and statistics').catch((error: unknown) =>
      parts.log.debug({ err: error }, 'delivery attempts and statistics could not be written'),
    );
  };
}

function buildJobs(parts: LeaderParts) {
  const { config, session, store, registry, metrics, log } = parts;
  const { now } = session;
  const statistics = new Statistics(session, createStatisticsMetrics(registry));
  const captures = new Captures(session, statistics.changed);
  const tasks = new Tasks(session);
  const cache = new Cache(session);
  const usage = new AccountUsage(session);
  const expiryIndex = new ExpiryIndex(session, now);
  const followUps = new FollowUps(tasks, expiryIndex);
  const receivers = new ReceiverLimits(now);
  return {
    ...parts,
    now,
    inbox: new PullInbox(session),
    regions: config.regions.map(({ region }) => region),
    statistics,
    captures,
    tasks,
    expiryIndex,
    followUps,
    receivers,
    batches: new Batches(session),
    readItems: (batch: BatchRecord) => readBatchItems(session, batch, now()),
    jobs: new Jobs(session, new Tickets(session)),
    failCapture: createFailCapture({ session, captures, followUps, metrics, log }),
    accounts: new Accounts(session),
    limiter: new Limiter(session, usage),
    defaultLimits: config.defaultLimits,
    allowIgnoreTlsErrors: config.allowIgnoreTlsErrors,
    secrets: new WebhookSecrets(session),
    policy: createEgressPolicy({ allow: config.egressAllow, deny: config.egressDeny }),
    upstream: openUpstream(config.upstreamProxy, { registry, log }),
    cdnUrl: config.cdnUrl,
    deadLetters: new DeadLetters(session),
    deliveryLog: new DeliveryLog(new Deliveries(session)),
    webhookMetrics: createWebhookMetrics(registry, () => receivers.unavailable),
    auditMetrics: createAuditMetrics(registry),
    streamMetrics: createStreamMetrics(registry),
    removeCaptureFiles: (record: CaptureRecord) =>
      removeCaptureFiles(record, { store, cache, removeHtml: (name) => removeHtml(session, name) }),
  };
}

type LeaderJobs = ReturnType<typeof buildJobs>;

/** Runs everything except the tasks: periodic jobs, canaries, and dead letters as they arrive. Never throws. */
async function runPeriodicJobs(jobs: LeaderJobs, term: Term): Promise<void> {
  const { session, fleet, provisioner, latest, history, config, times, metrics, log } = jobs;
  const { signal } = term;
  const every = (everyMs: number, what: string, run: () => Promise<unknown>) =>
    repeat({ what, everyMs, signal, log }, run);
  const sweep = new OverdueSweep(jobs);
  const expiries = new ExpirySweep(jobs);
  const isFleetKnown = () => latest.get()?.facts.regions.some(({ fleetKnown }) => fleetKnown) === true;
  const deadRenderers = new DeadRenderers({ session, fleet, isFleetKnown, metrics, log });
  signal.addEventListener('abort', () => deadRenderers.close(), { once: true });
  const retiredRegions = new RetiredRegions({ ...jobs, isFleetKnown });
  const provisionAll = async () => {
    await provisioner.run();
    if (term.holds()) await retiredRegions.removeQueues(term);
  };
  history.begin();
  const canaries = {
    intervalMs: config.canaryIntervalMs,
    retryMs: times.canaryRetryMs,
    deadlineMs: times.canaryDeadlineMs,
  };
  await Promise.all([
    every(times.provisionMs, 'updating the configuration of the streams', provisionAll),
    every(times.sweepMs, 'sweep of overdue captures', () => sweep.pass(term)),
    every(retiredRegionsIntervalMs, 'settling captures of removed regions', () => retiredRegions.settle(term)),
    every(deadRenderersIntervalMs, 'detection of dead renderers', () => deadRenderers.look(term)),
    every(regionSignalsIntervalMs, 'sending signals to renderers', async () => sendRegionSignals(jobs)),
    every(times.expiryMs, 'expiry of captures', () => expiries.pass(term)),
    every(times.expandDaysMs, 'expansion of daily expiry entries', () => expiries.expandDays(term)),
    every(auditCheckMs, 'audit of capture records', () => auditIfDue(jobs, times.recordAuditMs, term)),
    every(historyCheckMs, 'writing the history of the status', () => history.write(term)),
    every(statisticsIntervalMs, 'writing statistics', () => jobs.statistics.flush()),
    every(deliveryLogIntervalMs, 'writing delivery attempts', () => jobs.deliveryLog.flush()),
    every(streamSizesIntervalMs, 'measuring the streams', () => measureStreams(jobs, term)),
    settleDeadLetters(jobs, term),
    canaryRounds({ ...jobs, ...canaries }, term),
  ]);
  forgetStreams(jobs.streamMetrics);
}

/** Runs all tasks when they are due. Never throws. */
async function doTasks(jobs: LeaderJobs, term: Term): Promise<void> {
  await Promise.all([
    runTasks({ kind: 'dispatch', parallel: 4, run: (task) => recoverLostJob(task, jobs) }, jobs, term),
    // A capture that completes has an entry in the expiry index instead of a task.
    runTasks({ kind: 'expiry', parallel: 32, run: (task) => expireCapture(task, jobs) }, jobs, term),
    // Each delivery may take 10 s; ReceiverLimits shares them among the receivers.
    runTasks({ kind: 'webhook', parallel: maxDeliveries, run: (task) => deliverWebhook(task, jobs, term) }, jobs, term),
    runTasks({ kind: 'batch', parallel: 4, run: (task) => lookAtBatch(task, jobs) }, jobs, term),
    runTasks({ kind: 'refresh', parallel: 4, run: (task) => refreshCapture(task, jobs) }, jobs, term),
  ]);
}

/**
 * Sends renderers the time and the background shards with waiting captures. A front that has queued captures may have died before it sent
 * its signal, and no other process sends signals for the redeliveries of the server.
 */
function sendRegionSignals({ session, regions, latest }: LeaderJobs): void {
  const queue = latest.get()?.facts.queue;
  for (const region of regions) {
    const shards = queue?.kind === 'answered' ? (queue.shards[region] ?? []) : [];
    sendSignal(session, region, { shards, now: session.now() });
  }
}
