import type { Registry } from 'prom-client';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';
import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import type { LatestReading } from '../apply/latest-reading.ts';
import { DeletionCosts } from '../decide/deletion-cost.ts';
import { runElection, type ElectionOptions, type Term } from '../leader/election.ts';
import type { LeaseTimes } from '../leader/lease.ts';
import { repeat } from '../repeat.ts';
import { applyCosts } from './apply-costs.ts';
import { applyRegions } from './apply-regions.ts';
import { clusterWordIntervalMs } from './cluster-word.ts';
import { KubeConnection } from './connection.ts';
import { RegionEvents } from './events.ts';
import { loadInCluster } from './in-cluster.ts';
import { Inventory } from './inventory.ts';
import type { KubeSettings } from './kube-settings.ts';
import { KubeLease } from './kube-lease.ts';
import { loadKubeconfig } from './kubeconfig.ts';
import { KubeMetrics } from './metrics.ts';
import { sayWord } from './say-word.ts';
import { Wake } from './wake.ts';

export interface KubernetesParts {
  readonly settings: KubeSettings;
  /** Unique to this process. */
  readonly holder: string;
  readonly pod: string;
  readonly live: Entries;
  readonly latest: LatestReading;
  readonly registry: Registry;
  readonly log: Logger;
  readonly onHang: NonNullable<ElectionOptions['onHang']>;
  readonly times: KubeTimes;
}

export interface KubeTimes {
  readonly lease: LeaseTimes;
  readonly regionsMs: number;
  readonly costsMs: number;
}

/** Changes come in bursts: what is said of them waits for the rest of a burst, and the next word for a while. */
const burstMs = 100;
const restMs = 400;

/** All that has to do with the cluster that this controller runs in, until the signal aborts. Never throws. */
export async function runKubernetes(parts: KubernetesParts, signal: AbortSignal): Promise<void> {
  const { settings, registry, log, live, latest, times } = parts;
  const { access, namespace } = settings;
  const changed = new Wake();
  let metrics: KubeMetrics | null = null;
  const connection = new KubeConnection({
    load: () =>
      'kubeconfig' in access ? loadKubeconfig(access.kubeconfig, namespace) : loadInCluster(access, namespace),
    onError: (kind) => metrics?.error(kind),
  });
  const inventory = new Inventory({
    connection,
    release: settings.release,
    log,
    onChange: () => changed.set(),
    onRestart: (resource, reason) => metrics?.restart(resource, reason),
  });
  const told = new KubeMetrics(registry, () => inventory.ages);
  metrics = told;
  const lease = new KubeLease(connection, settings.lease, parts.holder, times.lease);
  const act = { connection, inventory, latest, metrics: told };
  const lead = async (term: Term) => {
    told.leader(true);
    // The successor speaks at once.
    changed.set();
    const events = new RegionEvents(connection, parts.pod);
    const costs = new DeletionCosts();
    const common = { signal: term.signal, log };
    await Promise.all([
      repeat({ what: 'writing the status of RenderRegions', everyMs: times.regionsMs, ...common }, () =>
        applyRegions({ ...act, events }, term),
      ),
      repeat({ what: 'keeping deletion costs', everyMs: times.costsMs, ...common }, () =>
        applyCosts({ ...act, costs }, term),
      ),
    ]);
    told.leader(false);
  };
  const speak = async () => {
    await changed.wait(clusterWordIntervalMs, signal);
    await delay(burstMs, signal);
    if (signal.aborted) return;
    await sayWord({ connection, inventory, lease, live });
    await delay(restMs, signal);
  };
  await Promise.all([
    inventory.run(signal),
    repeat({ what: 'saying what Kubernetes shows', everyMs: 0, signal, log }, speak),
    runElection({ what: 'the cluster', lease, times: times.lease, log, lead, onHang: parts.onHang }, signal),
  ]);
  await connection.close();
}
