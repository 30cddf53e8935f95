import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { sendSignal } from '@webcapture/shared/queue/jobs.ts';
import type { LatestReading } from '../health/facts.ts';
import type { Term } from '../leader/election.ts';
import { repeat } from '../loops.ts';
import type { ControllerParts } from '../parts.ts';
import { auditIfDue } from './audit.ts';
import { canaryRounds } from './canary-rounds.ts';
import { settleDeadLetters } from './dead-letters.ts';
import { DeadRenderers, deadRenderersIntervalMs } from './dead-renderers.ts';
import { dispatchJob } from './dispatch.ts';
import { ExpirySweep, expireCapture } from './expiry.ts';
import { collectOrphans } from './orphans/collection.ts';
import { removeRetiredDurables } from './provisioner.ts';
import { refreshCapture } from './refresh.ts';
import { OverdueSweep } from './sweep.ts';
import { runTasks } from './tasks.ts';
import { deliverWebhook } from './webhooks/deliver.ts';
import { maxDeliveries } from './webhooks/receiver-limits.ts';

/** How often it is looked whether an audit is due. */
const auditCheckMs = 60_000;

/** All that must be done once in the fleet, for one term. Resolves soon after the term's signal; never throws. */
export async function leadFleet(parts: ControllerParts, term: Term): Promise<void> {
  const { session, inbox, captures, jobs, settler, provisioner, regions, times, log, now } = parts;
  const { signal } = term;
  const sweep = new OverdueSweep({ session, captures, jobs, settler, now });
  const expiries = new ExpirySweep(parts);
  const deadRenderers = new DeadRenderers({
    ...parts,
    isFleetKnown: () => parts.latest.get()?.facts.regions.some(({ fleetKnown }) => fleetKnown) === true,
  });
  signal.addEventListener('abort', () => deadRenderers.close(), { once: true });
  const provisionAll = async () => {
    await provisioner.run();
    if (term.holds()) await removeRetiredDurables(session, regions, log);
  };
  await Promise.all([
    repeat(
      { what: 'updating the configuration of the streams', everyMs: times.provisionMs, signal, log },
      provisionAll,
    ),
    repeat({ what: 'sweep of overdue captures', everyMs: times.sweepMs, signal, log }, () => sweep.pass(term)),
    repeat({ what: 'detection of dead renderers', everyMs: deadRenderersIntervalMs, signal, log }, () =>
      deadRenderers.look(term),
    ),
    repeat({ what: 'sending signals to renderers', everyMs: regionSignalsIntervalMs, signal, log }, async () =>
      sendRegionSignals(parts),
    ),
    repeat({ what: 'expiry of captures', everyMs: times.expiryMs, signal, log }, () => expiries.pass(term)),
    repeat({ what: 'expansion of daily expiry entries', everyMs: times.expandDaysMs, signal, log }, () =>
      expiries.expandDays(term),
    ),
    repeat({ what: 'audit of capture records', everyMs: auditCheckMs, signal, log }, () =>
      auditIfDue(parts, times.recordAuditMs, term),
    ),
    doTasks(parts, term),
    collectOrphans(parts, parts.config.reconcileIntervalMs, term),
    settleDeadLetters({ session, inbox, captures, jobs, settler, fleet: parts.fleet, log }, term),
    canaryRounds(
      {
        ...parts,
        intervalMs: parts.config.canaryIntervalMs,
        retryMs: times.canaryRetryMs,
        deadlineMs: times.canaryDeadlineMs,
      },
      term,
    ),
  ]);
}

/** Does all tasks at their time, for one term. Never throws. */
async function doTasks(parts: ControllerParts, term: Term): Promise<void> {
  const refreshDeps = { ...parts, defaultLimits: parts.config.defaultLimits };
  await Promise.all([
    runTasks({ kind: 'dispatch', parallel: 4, run: (task) => dispatchJob(task, parts) }, parts, term),
    // Of what was deleted or failed; what the version before has scheduled comes here as well.
    runTasks({ kind: 'expiry', parallel: 32, run: (task) => expireCapture(task, parts) }, parts, term),
    runTasks(
      // A receiver may take ten seconds for each: see ReceiverLimits.
      { kind: 'webhook', parallel: maxDeliveries, run: (task) => deliverWebhook(task, parts, term) },
      parts,
      term,
    ),
    runTasks({ kind: 'refresh', parallel: 4, run: (task) => refreshCapture(task, refreshDeps) }, parts, term),
  ]);
}

/** Renderers look into every shard themselves when they hear nothing for a minute. */
const regionSignalsIntervalMs = 5000;

interface RegionSignalsDeps {
  readonly session: NatsSession;
  readonly regions: readonly Region[];
  readonly latest: Pick<LatestReading, 'get'>;
}

/**
 * Signals to renderers the time, and in which background shards captures wait: whoever queued them may have died before its
 * signal, and nobody else signals what the server delivers again.
 */
function sendRegionSignals({ session, regions, latest }: RegionSignalsDeps): void {
  const queue = latest.get()?.facts.queue;
  for (const region of regions) {
    const shards = queue?.kind === 'answered' ? (queue.shards[region] ?? []) : [];
    sendSignal(session, region, { shards, now: session.now() });
  }
}
