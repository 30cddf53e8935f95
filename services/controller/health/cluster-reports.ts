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
  /** The number of renderers asked for now; version 0.1 did not report it. */
  readonly asked?: number | null;
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
  /** The namespace, for people who look. */
  readonly namespace: string;
  /** Of the software that reports; version 0.1 did not report it. */
  readonly version?: string;
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

/** The last reports of all clusters of the fleet, kept in memory. Freshness is judged on this process's own clock. */
export class ClusterReports {
  readonly #received = new Map<string, { readonly report: ClusterReport; readonly at: number }>();
  /** When each region was last reported, by whichever cluster. */
  readonly #reportedAt = new Map<Region, number>();
  readonly #expected: boolean;
  readonly #now: () => number;
  readonly #startedAt: number;

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
    // A watch that starts again brings the last report once more, which is no news.
    if (report === null || this.#received.get(key)?.report.at === report.at) return;
    this.#received.set(key, { report, at: this.#now() });
    for (const region of Object.keys(report.regions)) {
      if (isRegion(region)) this.#reportedAt.set(region, this.#now());
    }
  }

  /** For how long no cluster has reported a region, although others report theirs; null where that is as it should be. */
  unreportedForMs(region: Region): number | null {
    const forMs = this.#now() - (this.#reportedAt.get(region) ?? this.#startedAt);
    const isHeard = this.#expected && this.#received.size > 0;
    return isHeard && forMs >= startTimeoutMs ? forMs : null;
  }

  /** What clusters report that does not belong to this fleet, or cannot work with it, in words. */
  strangers(installed: readonly Region[], minVersion: string): readonly string[] {
    const now = this.#now();
    return [...this.#received.values()].flatMap(({ report, at }) => {
      if (now - at > clusterReportFreshMs) return [];
      const { namespace, version } = report;
      const unknown = Object.keys(report.regions).filter((region) => !installed.some((each) => each === region));
      return [
        ...unknown.map((region) => `a cluster (${namespace}) has renderers of ${region}, which is not installed here`),
        ...(version !== undefined && olderThan(version, minVersion)
          ? [`a cluster (${namespace}) runs version ${version}; ${minVersion} is the oldest that works with this hub`]
          : []),
      ];
    });
  }

  /** What they report of a region; null when none has reported it for long. */
  of(region: Region): RegionInClusters | null {
    const now = this.#now();
    for (const [key, { at }] of this.#received) if (now - at > memoryMs) this.#received.delete(key);
    const reports = [...this.#received.values()].flatMap(({ report, at }) => {
      const reported = report.regions[region];
      return reported === undefined ? [] : [{ reported, ageMs: now - at }];
    });
    if (reports.length === 0) return this.#withoutReports();
    const fresh = reports.filter(({ ageMs }) => ageMs <= clusterReportFreshMs);
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
      silentForMs: fresh.length === reports.length ? null : Math.max(...reports.map(({ ageMs }) => ageMs)),
    };
  }

  #withoutReports(): RegionInClusters | null {
    const silentForMs = this.#now() - this.#startedAt;
    if (!this.#expected || this.#received.size > 0 || silentForMs < startTimeoutMs) return null;
    return { wanted: null, pods: [], missing: [], silentForMs };
  }
}
