import type { ReportedCluster } from '@webcapture/shared/api/status.ts';
import { isRegion, type Region } from '@webcapture/shared/runtime/regions.ts';
import { type NatsSession, olderThan } from '@webcapture/shared/nats/connect.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** `ending` means that the pod is being deleted, or has terminated. */
export type PodState = 'ready' | 'unready' | 'ending';

/** The report of one region in one cluster. */
export interface RegionReport {
  /** Minimum number of renderers requested in the last five minutes; null when the region has no Deployment. */
  readonly wanted: number | null;
  /** Number of renderers requested now; null when the region has no Deployment. */
  readonly asked: number | null;
  /** Why Kubernetes refuses to create pods, as Kubernetes words it. */
  readonly refused?: readonly string[];
  readonly pods: readonly RegionPod[];
  /** Deployments that a RenderRegion names and that do not exist. */
  readonly missing: readonly string[];
}

export interface RegionPod {
  readonly name: string;
  readonly state: PodState;
  readonly why?: string;
}

/**
 * A report about one cluster. The holder of the cluster's Lease publishes it every two seconds in the bucket `live`, under `cluster.<uid of
 * the Lease>`, or under `cluster.<region>.<uid>` for a satellite. The fleet's leader reads these reports, because it may run in another
 * cluster than the pods.
 */
export interface ClusterReport {
  /** The name of the cluster (`WEBCAPTURE_CLUSTER_NAME`). */
  readonly cluster: string;
  readonly namespace: string;
  /** Version of the reporting controller. */
  readonly version: string;
  readonly regions: Readonly<Partial<Record<Region, RegionReport>>>;
  /** Unix milliseconds. */
  readonly at: number;
}

export const clusterReportIntervalMs = 2000;
const clusterReportFreshMs = 5000;

const clusterKeys = 'cluster.>';
export const clusterKey = (cluster: string) => `cluster.${cluster}`;

/** Key of a satellite's report. The satellite's NATS user may write under its first region only. */
export const satelliteKey = (region: Region, cluster: string) => `cluster.${region}.${cluster}`;

/** A region as Kubernetes sees it in all clusters of the fleet. `pods` and `missing` come from fresh reports. */
export interface RegionInClusters extends RegionReport {
  /** Longest time that a cluster has been silent; null while all clusters report. */
  readonly silentForMs: number | null;
  /** The names of the silent clusters. */
  readonly silentClusters: readonly string[];
  /** Names of the pods in the last reports of the silent clusters. */
  readonly silentPods: readonly string[];
  /** Descriptions of conflicts: two clusters of the region use the same name at the same time. */
  readonly conflicts: readonly string[];
}

/** Window of the minimum number of requested renderers. Renderers that were requested only recently, by a scale-up, are not missed. */
const wantedWindowMs = 5 * 60_000;

interface Step {
  /** When this number was first requested, on the monotonic clock. */
  readonly since: number;
  readonly replicas: number;
}

/** Keeps, by region, the minimum number of renderers that were requested in the last five minutes. */
export class LeastWanted {
  readonly #steps = new Map<Region, readonly Step[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Records the number that is requested now. Returns the minimum of the window. */
  note(region: Region, replicas: number): number {
    const now = this.#now();
    const steps = this.#steps.get(region) ?? [];
    const next = steps.at(-1)?.replicas === replicas ? steps : [...steps, { since: now, replicas }];
    // A number that was requested before the window counts if it was in force when the window began.
    const kept = next.filter((_, index) => (next[index + 1]?.since ?? Infinity) > now - wantedWindowMs);
    this.#steps.set(region, kept);
    return Math.min(...kept.map((step) => step.replicas));
  }

  /** Records the number that the previous leader read `ageMs` ago. It has no effect after the first `note` of a region. */
  remember(region: Region, replicas: number, ageMs: number): void {
    if (this.#steps.has(region) || ageMs < 0 || ageMs >= wantedWindowMs) return;
    this.#steps.set(region, [{ since: this.#now() - ageMs, replicas }]);
  }
}

/** Time for which a cluster that no longer reports is shown as silent. */
const memoryMs = 15 * 60_000;

/** Maximum time from the start of this process to the first report. */
const startTimeoutMs = 15_000;

/** A watch that receives no message for this time is considered dead. */
const maxSilenceMs = 3500;

/** The reports received from one installation in one cluster. */
interface Heard {
  readonly name: string;
  /** The uid of the Lease. A cluster or installation that is recreated has another Lease. */
  readonly uid: string;
  readonly report: ClusterReport;
  /** Positions of the first and the last report of the cluster in the order of arrival. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly at: number;
}

/**
 * Returns whether `next` is the successor of `before`. A recreated cluster or installation reports under the same name after the old one
 * has become silent. If two reports of `next` have arrived since, the two do not alternate.
 */
const replaces = (next: Heard, before: Heard): boolean =>
  isSameCluster(next, before) && next.count > 1 && before.last < next.first;

/** Compares names and Leases instead of keys, because the key of a satellite contains its first region, which can change. */
const isSameCluster = (a: Heard, b: Heard): boolean => a.name === b.name || a.uid === b.uid;

/** Keeps the last reports of all clusters of the fleet in memory. Ages are measured on this process's own clock. */
export class ClusterReports {
  readonly #received = new Map<string, Heard>();
  /** When any cluster last reported each region. */
  readonly #reportedAt = new Map<Region, number>();
  readonly #expected: boolean;
  readonly #now: () => number;
  readonly #startedAt: number;
  #order = 0;

  /** @param expected whether this controller runs in a cluster, so that at least one cluster should report */
  constructor(expected: boolean, now: () => number = () => performance.now()) {
    this.#expected = expected;
    this.#now = now;
    this.#startedAt = now();
  }

  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<ClusterReport>(
      session,
      { bucket: 'live', filter: clusterKeys, maxSilenceMs, ...deps },
      { reset: () => undefined, change: ({ key, value }) => this.receive(key, value) },
    );
  }

  /** Stores a report. A report that expires in NATS is kept as the last one of its cluster. */
  receive(key: string, report: ClusterReport | null): void {
    const known = this.#received.get(key);
    // A restarted watch delivers the last report again.
    if (report === null || known?.report.at === report.at) return;
    const now = this.#now();
    const order = ++this.#order;
    this.#received.set(key, {
      name: report.cluster,
      uid: key.slice(key.lastIndexOf('.') + 1),
      report,
      first: known?.first ?? order,
      last: order,
      count: (known?.count ?? 0) + 1,
      at: now,
    });
    for (const region of Object.keys(report.regions)) {
      if (isRegion(region)) this.#reportedAt.set(region, now);
    }
  }

  /** Returns the time since the last report of a region if other regions are reported. Returns null if no report is expected. */
  unreportedForMs(region: Region): number | null {
    const forMs = this.#now() - (this.#reportedAt.get(region) ?? this.#startedAt);
    const isHeard = this.#expected && this.#received.size > 0;
    return isHeard && forMs >= startTimeoutMs ? forMs : null;
  }

  /** Returns all clusters of the fleet, with the problems of each. */
  list(installed: readonly Region[], minVersion: string): readonly ReportedCluster[] {
    const clusters = this.#clusters();
    return clusters
      .map((heard): ReportedCluster => {
        const { namespace, version, regions } = heard.report;
        const ageMs = this.#now() - heard.at;
        const isSilent = ageMs > clusterReportFreshMs;
        const conflict = this.#conflictOf(heard, clusters);
        return {
          name: heard.name,
          namespace,
          version,
          regions: Object.keys(regions).filter(isRegion),
          silentForMs: isSilent ? ageMs : null,
          problems: isSilent ? [] : [...misfitsOf(heard, installed, minVersion), ...(conflict ?? [])],
        };
      })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns the combined reports of a region; null when no cluster has reported it recently. */
  of(region: Region): RegionInClusters | null {
    const now = this.#now();
    const clusters = this.#clusters();
    const reports = clusters.flatMap((heard) => {
      const reported = heard.report.regions[region];
      return reported === undefined ? [] : [{ heard, reported, ageMs: now - heard.at }];
    });
    if (reports.length === 0) return this.#withoutReports();
    const fresh = reports.filter(({ ageMs }) => ageMs <= clusterReportFreshMs);
    const silent = reports.filter(({ ageMs }) => ageMs > clusterReportFreshMs);
    // A number counts while it is in the window, even if its cluster is silent now.
    const counting = reports.filter(({ ageMs }) => ageMs <= wantedWindowMs);
    const wanted = counting.flatMap(({ reported }) => reported.wanted ?? []);
    const asked = counting.flatMap(({ reported }) => reported.asked ?? []);
    const total = (numbers: readonly number[]) =>
      numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0);
    return {
      wanted: total(wanted),
      asked: total(asked),
      refused: fresh.flatMap(({ reported }) => reported.refused ?? []),
      pods: fresh.flatMap(({ reported }) => reported.pods),
      missing: fresh.flatMap(({ reported }) => reported.missing),
      silentForMs: silent.length === 0 ? null : Math.max(...silent.map(({ ageMs }) => ageMs)),
      silentClusters: silent.map(({ heard }) => heard.name),
      silentPods: silent.flatMap(({ reported }) => reported.pods.map(({ name }) => name)),
      conflicts: [...new Set(fresh.flatMap(({ heard }) => this.#conflictOf(heard, clusters) ?? []))],
    };
  }

  /** The clusters whose reports have not expired and that were not replaced. */
  #clusters(): readonly Heard[] {
    const now = this.#now();
    for (const [key, { at }] of this.#received) if (now - at > memoryMs) this.#received.delete(key);
    const all = [...this.#received.values()];
    return all.filter((each) => !all.some((other) => replaces(other, each)));
  }

  /**
   * Describes the conflict when another cluster reports under the same name at the same time; null without a conflict.
   */
  #conflictOf(heard: Heard, clusters: readonly Heard[]): readonly string[] | null {
    const now = this.#now();
    const namesakes = clusters.filter(
      ({ name, count, at }) => name === heard.name && count > 1 && now - at <= clusterReportFreshMs,
    );
    if (!namesakes.includes(heard) || namesakes.length < 2) return null;
    const where = namesakes.map(
      ({ report, uid }) => `in the namespace ${report.namespace} with the Lease ${uid.slice(0, 8)}`,
    );
    return [
      `${namesakes.length} clusters report under the name ${heard.name} (${where.toSorted().join(', and ')}); ` +
        'set another cluster.name (WEBCAPTURE_CLUSTER_NAME) in all but one of them',
    ];
  }

  #withoutReports(): RegionInClusters | null {
    const silentForMs = this.#now() - this.#startedAt;
    if (!this.#expected || this.#received.size > 0 || silentForMs < startTimeoutMs) return null;
    return {
      wanted: null,
      asked: null,
      pods: [],
      missing: [],
      silentForMs,
      silentClusters: [],
      silentPods: [],
      conflicts: [],
    };
  }
}

/** Describes what does not fit into the fleet: regions of a cluster that the fleet does not have, and a version that is too old. */
function misfitsOf(heard: Heard, installed: readonly Region[], minVersion: string): readonly string[] {
  const { version, regions } = heard.report;
  const cluster = `the cluster ${heard.name}`;
  const unknown = Object.keys(regions).filter((region) => !installed.some((each) => each === region));
  return [
    ...unknown.map(
      (region) =>
        `${cluster} has renderers of ${region}, which is not installed here; add it to otherRegions of the hub, or remove it there`,
    ),
    ...(olderThan(version, minVersion)
      ? [`${cluster} runs version ${version}; ${minVersion} is the oldest that works with this hub; upgrade it`]
      : []),
  ];
}
