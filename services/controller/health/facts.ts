import { connectionReasons } from '@webcapture/shared/nats/connection-problem.ts';
import type { Priority } from '@webcapture/shared/nats/streams.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { ReportedCluster, StatusReport } from '@webcapture/shared/api/status.ts';
import type { RegionInClusters } from './cluster-reports.ts';

/** Everything that a decision depends on, read at one moment. A failed reading is a fact too. */
export interface Facts {
  /** Unix milliseconds. */
  readonly at: number;
  readonly queue: QueueFacts;
  /** Null before the first test of the store. */
  readonly storage: StorageFacts | null;
  readonly regions: readonly RegionFacts[];
  /** All clusters that have reported, including those that do not belong to this fleet. */
  readonly clusters: readonly ReportedCluster[];
}

export type QueueFacts =
  | { readonly kind: 'unreachable'; readonly why: 'no connection' | 'no answer' | 'no JetStream' }
  | {
      readonly kind: 'answered';
      readonly roundTripMs: number;
      /** Streams and durables that do not exist although they should. */
      readonly missing: readonly string[];
      /** Captures that wait for their first delivery to a renderer. */
      readonly waiting: Readonly<Partial<Record<Region, PriorityDepths>>>;
      /** Background shards of each region in which a capture waits, or from which a renderer that may have died holds a capture. */
      readonly shards: Readonly<Partial<Record<Region, readonly number[]>>>;
      /** Number of captures in queues of regions that this controller does not have, by region. Regions without captures are absent. */
      readonly retired: Readonly<Partial<Record<Region, number>>>;
      /** Results that no front has settled yet; null when the count failed. */
      readonly results: ResultsDepth | null;
    };

export interface ResultsDepth {
  readonly waiting: number;
  /** Age of the oldest result in milliseconds; null if no result waits. */
  readonly oldestMs: number | null;
}

export type PriorityDepths = Readonly<Record<Priority, number>> & {
  /** Background captures that renderers have taken but not finished. */
  readonly backgroundHeld: number;
  /** Age of the interactive capture that has waited longest, in milliseconds; null when none waits. */
  readonly oldestInteractiveMs: number | null;
  /** Age of the background capture that has waited longest, in milliseconds; null when none waits. */
  readonly oldestBackgroundMs: number | null;
};

/** Result of the last test file. Times are Unix milliseconds. */
export type StorageFacts =
  | { readonly kind: 'works'; readonly at: number; readonly ms: number }
  | {
      readonly kind: 'fails';
      readonly at: number;
      readonly step: 'write' | 'read' | 'remove';
      readonly late: boolean;
      /** Number of consecutive failures, including this one. */
      readonly failures: number;
    };

export interface RegionFacts {
  readonly region: Region;
  /** Minimum number of renderers by the operator's configuration. Used if no cluster reports the number that Kubernetes wants. */
  readonly wanted: number;
  /** Maximum number of slots for which background captures count in the region's load; undefined for no maximum. */
  readonly backgroundSlots?: number | undefined;
  /** The region runs in another cluster and has never worked: it is not installed yet and not part of the status. */
  readonly isPending: boolean;
  /** False if heartbeats cannot have arrived yet. The state of the renderers is then unknown. */
  readonly fleetKnown: boolean;
  /** Renderers with a fresh heartbeat. */
  readonly pods: readonly RendererHeartbeat[];
  readonly silent: readonly { readonly pod: string; readonly forMs: number }[];
  readonly waiting: PriorityDepths | null;
  readonly canary: CanaryFacts | null;
  /** The combined cluster reports of the region; null where no cluster has reported it. */
  readonly clusters: RegionInClusters | null;
  /** How long no cluster has reported the region while other regions were reported; null if no cluster should report it. */
  readonly unreportedForMs: number | null;
}

/** Results of a region's canary captures. */
export interface CanaryFacts {
  /** Outcome of the last canary capture. `no_free_slot` means that all slots stayed busy until its deadline. */
  readonly last: 'completed' | 'failed' | 'no_free_slot';
  /** Number of consecutive failures, including the last one. */
  readonly failures: number;
  /** Duration of the last canary capture that completed. */
  readonly ms?: number;
  /** Public reason of the last failure. */
  readonly reason?: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The status as it is decided from facts, before the depths of the queues are added. */
export type DecidedStatus = Omit<StatusReport, 'waiting' | 'retired'>;

export interface Reading {
  readonly facts: Facts;
  /** Null until every component has been read once. */
  readonly report: DecidedStatus | null;
  /** Problems that keep regions of this cluster out of their fleet. Only satellites have this field. */
  readonly problems?: ReadonlyMap<Region, FleetProblem>;
}

/** Why a satellite's region is not part of its fleet, or does not work with it. */
export interface FleetProblem {
  readonly reason: FleetReason;
  /** A sentence without the final dot. */
  readonly message: string;
}

/** A closed set, for conditions and metrics. */
export const fleetReasons = [...connectionReasons, 'RegionUnknown', 'ConfigurationDiffers'] as const;
export type FleetReason = (typeof fleetReasons)[number];

/** Maximum age of a reading that is used. */
const maxAgeMs = 10_000;

/** Keeps the last reading and decision for the parts of the controller that act on it. */
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

  /** Returns the last reading; null if there is none yet, or if it is too old. */
  get(): Reading | null {
    return this.#now() - this.#at > maxAgeMs ? null : this.#reading;
  }
}
