import { connectionReasons } from '@webcapture/shared/nats/connection-problem.ts';
import type { Priority } from '@webcapture/shared/nats/streams.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { ReportedCluster, StatusReport } from '@webcapture/shared/api/status.ts';
import type { RegionInClusters } from './cluster-reports.ts';

/** Everything that a decision is made from, read at one moment. A reading that failed is a fact too. */
export interface Facts {
  /** Unix milliseconds. */
  readonly at: number;
  readonly queue: QueueFacts;
  /** Null until the store was tried for the first time. */
  readonly storage: StorageFacts | null;
  readonly regions: readonly RegionFacts[];
  /** The clusters that have reported, also those that do not belong to this fleet. */
  readonly clusters: readonly ReportedCluster[];
}

export type QueueFacts =
  | { readonly kind: 'unreachable'; readonly why: 'no connection' | 'no answer' | 'no JetStream' }
  | {
      readonly kind: 'answered';
      readonly roundTripMs: number;
      /** Streams and durables that should be there and are not. */
      readonly missing: readonly string[];
      /** Captures that wait: not delivered to a renderer yet. */
      readonly waiting: Readonly<Partial<Record<Region, PriorityDepths>>>;
      /** Background shards of each region in which a capture waits, or is held by a renderer, which may have died. */
      readonly shards: Readonly<Partial<Record<Region, readonly number[]>>>;
      /** Captures in queues of regions that this controller does not have, by region; those without any are left out. */
      readonly retired: Readonly<Partial<Record<Region, number>>>;
      /** Results that no front has settled yet; null when they could not be counted. */
      readonly results: ResultsDepth | null;
    };

export interface ResultsDepth {
  readonly waiting: number;
  /** Age of the oldest in milliseconds; null when none waits. */
  readonly oldestMs: number | null;
}

export type PriorityDepths = Readonly<Record<Priority, number>> & {
  /** Background captures that renderers have taken, and not ended yet. */
  readonly backgroundHeld: number;
  /** Age of the interactive capture that has waited longest, in milliseconds; null when none waits. */
  readonly oldestInteractiveMs: number | null;
  /** The same of background captures. */
  readonly oldestBackgroundMs: number | null;
};

/** What the last test file showed. Times are Unix milliseconds. */
export type StorageFacts =
  | { readonly kind: 'works'; readonly at: number; readonly ms: number }
  | {
      readonly kind: 'fails';
      readonly at: number;
      readonly step: 'write' | 'read' | 'remove';
      readonly late: boolean;
      /** In a row, this one among them. */
      readonly failures: number;
    };

export interface RegionFacts {
  readonly region: Region;
  /** How many renderers the operator's configuration says that there should be at least. */
  readonly wanted: number;
  /** For how many slots background captures count at most in the load of the region; undefined for all of them. */
  readonly backgroundSlots?: number | undefined;
  /** The region is in another cluster, and has never worked: it is not installed yet, and outside of the status. */
  readonly isPending: boolean;
  /** False while heartbeats cannot have been heard: then nothing is said about the renderers. */
  readonly fleetKnown: boolean;
  /** Renderers with a fresh heartbeat. */
  readonly pods: readonly RendererHeartbeat[];
  readonly silent: readonly { readonly pod: string; readonly forMs: number }[];
  readonly waiting: PriorityDepths | null;
  readonly canary: CanaryFacts | null;
  /** What the cluster reports say of it; null where no cluster has reported it. */
  readonly clusters: RegionInClusters | null;
  /** For how long no cluster has reported it, although others report theirs; null where that is as it should be. */
  readonly unreportedForMs: number | null;
}

/** What the canary captures of a region showed. */
export interface CanaryFacts {
  /** How the last one ended; `crowded`: it waited in vain for one of the slots, which were all busy. */
  readonly last: 'completed' | 'failed' | 'crowded';
  /** Failed ones in a row, the last among them. */
  readonly failures: number;
  /** Of the last one that completed. */
  readonly ms?: number;
  /** Why the last one failed, in words for everybody. */
  readonly reason?: string;
  /** Unix milliseconds. */
  readonly at: number;
}

export interface Reading {
  readonly facts: Facts;
  /** Null until every component has been read once. */
  readonly report: StatusReport | null;
  /** What keeps regions of this cluster from their fleet; of satellites only. */
  readonly problems?: ReadonlyMap<Region, FleetProblem>;
}

/** Why a satellite's region takes no part in its fleet, or not as it should. */
export interface FleetProblem {
  readonly reason: FleetReason;
  /** A sentence without the final dot. */
  readonly message: string;
}

/** A closed set, for conditions and metrics. */
export const fleetReasons = [...connectionReasons, 'RegionUnknown', 'ConfigurationDiffers'] as const;
export type FleetReason = (typeof fleetReasons)[number];

/** An older one is no longer gone by. */
const maxAgeMs = 10_000;

/** What this controller read and decided last, for those of its parts that act on it. */
export class LatestReading {
  #reading: Reading | null = null;
  #at = 0;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  set(reading: Reading): void {
    this.#reading = reading;
    this.#at = this.#now();
  }

  /** Null before the first, and when the last one is too old. */
  get(): Reading | null {
    return this.#now() - this.#at > maxAgeMs ? null : this.#reading;
  }
}
