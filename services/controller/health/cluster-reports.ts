import type { ReportedCluster } from '@webcapture/shared/api/status.ts';
import { isRegion, type Region } from '@webcapture/shared/runtime/regions.ts';
import { type NatsSession, olderThan } from '@webcapture/shared/nats/connect.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** `ending`: it is being deleted, or has ended. */
export type PodState = 'ready' | 'unready' | 'ending';

/** One region in one cluster. */
export interface RegionReport {
  /** The least number of renderers asked for in the last five minutes; null when no Deployment of it is there. */
  readonly wanted: number | null;
  /** The number of renderers asked for now. */
  readonly asked: number | null;
  /** Why Kubernetes makes no more pods, in its own words. */
  readonly refused?: readonly string[];
  /** Pods by state. */
  readonly pods: readonly RegionPod[];
  /** Deployments that a RenderRegion names and that are not there. */
  readonly missing: readonly string[];
}

export interface RegionPod {
  readonly name: string;
  readonly state: PodState;
  readonly why?: string;
}

/**
 * What the holder of a cluster's Lease publishes every two seconds, under `cluster.<uid of the Lease>` in the bucket `live`, or under
 * `cluster.<region>.<uid>` from a satellite: the fleet's leader may sit in another cluster than the pods.
 */
export interface ClusterReport {
  /** The name of the cluster (`WEBCAPTURE_CLUSTER_NAME`). */
  readonly cluster: string;
  readonly namespace: string;
  /** Of the software that reports. */
  readonly version: string;
  readonly regions: Readonly<Partial<Record<Region, RegionReport>>>;
  /** Unix milliseconds. */
  readonly at: number;
}

export const clusterReportIntervalMs = 2000;
const clusterReportFreshMs = 5000;

const clusterKeys = 'cluster.>';
export const clusterKey = (cluster: string) => `cluster.${cluster}`;

/** Of a satellite, whose user of NATS may write under its first region only. */
export const satelliteKey = (region: Region, cluster: string) => `cluster.${region}.${cluster}`;

/** A region as Kubernetes sees it, all clusters of the fleet together; pods and what is missing are those of fresh reports. */
export interface RegionInClusters extends RegionReport {
  /** For how long a cluster has been silent, the longest of them; null while all are heard. */
  readonly silentForMs: number | null;
  /** The names of the silent clusters. */
  readonly silentClusters: readonly string[];
  /** Names of the pods in the last reports of the silent clusters. */
  readonly silentPods: readonly string[];
  /** Names that two clusters of the region use at the same time, in words. */
  readonly conflicts: readonly string[];
}

/** Scaling up is no outage for so long. */
const wantedWindowMs = 5 * 60_000;

interface Step {
  /** When this number came to be asked for, on the monotonic clock. */
  readonly since: number;
  readonly replicas: number;
}

/** The least number of replicas asked for in the last five minutes, by region. */
export class LeastWanted {
  readonly #steps = new Map<Region, readonly Step[]>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** What is asked for now. Returns the least of the window. */
  note(region: Region, replicas: number): number {
    const now = this.#now();
    const steps = this.#steps.get(region) ?? [];
    const next = steps.at(-1)?.replicas === replicas ? steps : [...steps, { since: now, replicas }];
    // What was asked for before the window began counts while it was still asked for when it began.
    const kept = next.filter((_, index) => (next[index + 1]?.since ?? Infinity) > now - wantedWindowMs);
    this.#steps.set(region, kept);
    return Math.min(...kept.map((step) => step.replicas));
  }

  /** What a predecessor found `ageMs` ago; only before the first note of a region. */
  remember(region: Region, replicas: number, ageMs: number): void {
    if (this.#steps.has(region) || ageMs < 0 || ageMs >= wantedWindowMs) return;
    this.#steps.set(region, [{ since: this.#now() - ageMs, replicas }]);
  }
}

/** For how long a cluster that fell silent is mentioned. */
const memoryMs = 15 * 60_000;

/** How long it may take after a start until a first report arrives. */
const startTimeoutMs = 15_000;

/** A watch that has brought nothing for so long has died. */
const maxSilenceMs = 3500;

/** What was heard of one installation in one cluster. */
interface Heard {
  readonly name: string;
  /** Of the Lease, which a cluster or an installation that was built anew creates anew. */
  readonly uid: string;
  readonly report: ClusterReport;
  /** The first and the last of its reports, in the order in which reports arrived. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly at: number;
}

/**
 * Whether `next` is what became of `before`: a cluster or an installation that was built anew reports under the same name once the
 * former one has fallen silent. Two reports of `next` prove that the reports of both do not alternate.
 */
const replaces = (next: Heard, before: Heard): boolean =>
  isSameCluster(next, before) && next.count > 1 && before.last < next.first;

/** The same Lease: the first region of a satellite, under which it reports, has changed. */
const isSameCluster = (a: Heard, b: Heard): boolean => a.name === b.name || a.uid === b.uid;

/** The last reports of all clusters of the fleet, kept in memory. Freshness is judged on this process's own clock. */
export class ClusterReports {
  readonly #received = new Map<string, Heard>();
  /** When each region was last reported, by whichever cluster. */
  readonly #reportedAt = new Map<Region, number>();
  readonly #expected: boolean;
  readonly #now: () => number;
  readonly #startedAt: number;
  #order = 0;

  /** `expected`: this controller has a cluster, so that it is odd when none reports at all. */
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

  /** Takes in a report. One that has expired stays remembered as the last. */
  receive(key: string, report: ClusterReport | null): void {
    const known = this.#received.get(key);
    // A watch that starts again brings the last report once more, which is no news.
    if (report === null || known?.report.at === report.at) return;
    const now = this.#now();
    const order = ++this.#order;
    this.#received.set(key, {
      // Without a name, only the same Lease is the same cluster.
      name: report.cluster ?? key,
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

  /** For how long no cluster has reported a region, although others report theirs; null where that is as it should be. */
  unreportedForMs(region: Region): number | null {
    const forMs = this.#now() - (this.#reportedAt.get(region) ?? this.#startedAt);
    const isHeard = this.#expected && this.#received.size > 0;
    return isHeard && forMs >= startTimeoutMs ? forMs : null;
  }

  /** All clusters of the fleet, with what keeps each from working with it. */
  list(installed: readonly Region[], minVersion: string): readonly ReportedCluster[] {
    const clusters = this.#clusters();
    return clusters
      .map((heard): ReportedCluster => {
        const { namespace, version = null, regions } = heard.report;
        const ageMs = this.#now() - heard.at;
        const isSilent = ageMs > clusterReportFreshMs;
        const conflict = this.#conflictOf(heard, clusters);
        return {
          name: nameOf(heard),
          namespace,
          version,
          regions: Object.keys(regions).filter(isRegion),
          silentForMs: isSilent ? ageMs : null,
          problems: isSilent ? [] : [...misfitsOf(heard, installed, minVersion), ...(conflict ?? [])],
        };
      })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** What they report of a region; null when none has reported it for long. */
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
    // What was asked for within the window counts, whether or not its cluster can be heard now.
    const counting = reports.filter(({ ageMs }) => ageMs <= wantedWindowMs);
    const wanted = counting.flatMap(({ reported }) => reported.wanted ?? []);
    const asked = counting.flatMap(({ reported }) => reported.asked ?? reported.wanted ?? []);
    const total = (numbers: readonly number[]) =>
      numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0);
    return {
      wanted: total(wanted),
      asked: total(asked),
      refused: fresh.flatMap(({ reported }) => reported.refused ?? []),
      pods: fresh.flatMap(({ reported }) => reported.pods),
      missing: fresh.flatMap(({ reported }) => reported.missing),
      silentForMs: silent.length === 0 ? null : Math.max(...silent.map(({ ageMs }) => ageMs)),
      silentClusters: silent.map(({ heard }) => nameOf(heard)),
      silentPods: silent.flatMap(({ reported }) => reported.pods.map(({ name }) => name)),
      conflicts: [...new Set(fresh.flatMap(({ heard }) => this.#conflictOf(heard, clusters) ?? []))],
    };
  }

  /** All but those that have expired, and those that another one has replaced. */
  #clusters(): readonly Heard[] {
    const now = this.#now();
    for (const [key, { at }] of this.#received) if (now - at > memoryMs) this.#received.delete(key);
    const all = [...this.#received.values()];
    return all.filter((each) => !all.some((other) => replaces(other, each)));
  }

  /** Another cluster reports under the same name at the same time. Null when none does. */
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
    return { wanted: null, pods: [], missing: [], silentForMs, silentClusters: [], silentPods: [], conflicts: [] };
  }
}

const nameOf = ({ report }: Heard): string => report.cluster ?? `in the namespace ${report.namespace}`;

/** What a cluster reports that does not belong to this fleet, or cannot work with it, in words. */
function misfitsOf(heard: Heard, installed: readonly Region[], minVersion: string): readonly string[] {
  const { version, regions } = heard.report;
  const cluster = `the cluster ${nameOf(heard)}`;
  const unknown = Object.keys(regions).filter((region) => !installed.some((each) => each === region));
  return [
    ...unknown.map(
      (region) =>
        `${cluster} has renderers of ${region}, which is not installed here; add it to otherRegions of the hub, or remove it there`,
    ),
    ...(version !== undefined && olderThan(version, minVersion)
      ? [`${cluster} runs version ${version}; ${minVersion} is the oldest that works with this hub; upgrade it`]
      : []),
  ];
}
