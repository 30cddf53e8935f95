import type { Registry } from 'prom-client';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import { clusterReportIntervalMs } from '../health/cluster-reports.ts';
import type { LatestReading } from '../health/facts.ts';
import { type ElectionOptions, runElection, type Term } from '../leader/election.ts';
import { Lease } from '../leader/lease.ts';
import { repeat, skipped, WakeableTimer } from '../loops.ts';
import type { ControllerTimes } from '../times.ts';
import { KubernetesClient, loadInCluster, loadKubeconfig } from './client.ts';
import { applyCosts, DeletionCosts } from './deletion-costs.ts';
import { Inventory } from './inventory.ts';
import { kubernetesLeaseStore } from './lease.ts';
import { createKubernetesMetrics, type KubernetesMetrics } from './metrics.ts';
import { applyRegions, RegionEvents } from './render-regions.ts';
import { clusterNameOf, type KubernetesSettings } from './settings.ts';

/** Store of the cluster reports. A satellite without a connection does not write them. */
interface ReportStore {
  put(key: string, report: unknown, options?: { readonly ttlSeconds?: number }): Promise<number | typeof skipped>;
}

export interface KubernetesParts {
  readonly settings: KubernetesSettings;
  /** Unique for this process. */
  readonly holder: string;
  readonly pod: string;
  /** The first region of the release. */
  readonly home: Region;
  readonly live: ReportStore;
  /** Returns the key of the cluster's report in the store for the uid of the Lease. */
  readonly reportKey: (uid: string) => string;
  /** Called with the uid of the Lease, which uniquely identifies this installation in its cluster. */
  readonly identify: (uid: string) => void;
  readonly latest: LatestReading;
  readonly registry: Registry;
  readonly log: Logger;
  readonly onHang: NonNullable<ElectionOptions['onHang']>;
  readonly times: ControllerTimes['kubernetes'];
  /** The server's clock, Unix ms. */
  readonly now: () => number;
}

/** Changes arrive in bursts. A report waits until a burst has ended; the next report waits longer. */
const burstMs = 100;
const restMs = 400;

/** Runs everything that concerns the controller's own cluster until the signal aborts. Never throws. */
export async function runKubernetes(parts: KubernetesParts, signal: AbortSignal): Promise<void> {
  const { settings, registry, log, live, latest, times } = parts;
  const { access, namespace } = settings;
  const changed = new WakeableTimer();
  const metrics: KubernetesMetrics = createKubernetesMetrics(registry, () => inventory.ages);
  const client = new KubernetesClient({
    load: () =>
      'kubeconfig' in access ? loadKubeconfig(access.kubeconfig, namespace) : loadInCluster(access, namespace),
    onError: (kind) => metrics.errors.inc({ kind }),
  });
  const inventory = new Inventory({
    client,
    release: settings.release,
    log,
    now: parts.now,
    onChange: () => changed.wake(),
    onRestart: (resource, reason) => metrics.restarts.inc({ resource, reason }),
  });
  const store = kubernetesLeaseStore(client, settings, times.lease, parts.identify);
  const lease = new Lease(store, parts.holder, times.lease);
  // The events are shared by all terms, because a change at the end of the last term may have no Event yet.
  const events = new RegionEvents(client, parts.pod);
  const act = { client, inventory, latest, metrics, now: parts.now };
  const lead = async (term: Term) => {
    metrics.leader.set(1);
    // The new holder reports immediately.
    changed.wake();
    const costs = new DeletionCosts();
    const common = { signal: term.signal, log };
    await Promise.all([
      repeat({ what: 'writing the status of RenderRegions', everyMs: times.regionsMs, ...common }, () =>
        applyRegions({ ...act, events }, term),
      ),
      ...(settings.deletionCosts
        ? [
            repeat({ what: 'updating deletion costs', everyMs: times.costsMs, ...common }, () =>
              applyCosts({ ...act, costs }, term),
            ),
          ]
        : []),
    ]);
    metrics.leader.set(0);
  };
  const report = async () => {
    await changed.wait(clusterReportIntervalMs, signal);
    await delay(burstMs, signal);
    if (signal.aborted) return skipped;
    const cluster = clusterNameOf(settings, { namespace: client.namespace, home: parts.home });
    const { reportKey } = parts;
    const result = await publishClusterReport({ client, inventory, lease, live, cluster, reportKey });
    await delay(restMs, signal);
    return result;
  };
  await Promise.all([
    inventory.run(signal),
    repeat({ what: 'publishing the cluster report', everyMs: 0, signal, log }, report),
    runElection({ what: 'the cluster', lease, times: times.lease, log, lead, onHang: parts.onHang }, signal),
  ]);
  await client.close();
}

const reportTtlSeconds = 10;

/**
 * Publishes the inventory's report if this process holds the Lease. The other controllers read the inventory as well, so that they know the
 * numbers that were requested recently when they take over.
 */
export async function publishClusterReport(parts: {
  readonly client: Pick<KubernetesClient, 'namespace'>;
  readonly inventory: Inventory;
  readonly lease: { holds(): boolean; readonly held: { readonly uid: string } | null };
  readonly live: ReportStore;
  readonly cluster: string;
  readonly reportKey: (uid: string) => string;
}): Promise<typeof skipped | undefined> {
  const { client, inventory, lease, live, cluster, reportKey } = parts;
  const report = inventory.report({ cluster, namespace: client.namespace });
  if (report === null || !lease.holds() || lease.held === null) return skipped;
  const published = live.put(reportKey(lease.held.uid), report, { ttlSeconds: reportTtlSeconds });
  const result = await withDeadline(published, clusterReportIntervalMs, 'publishing the cluster report');
  return result === skipped ? skipped : undefined;
}
