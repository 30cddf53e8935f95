import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { connectionId } from '@webcapture/shared/nats/watch.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { heartbeatFreshMs } from '@webcapture/shared/queue/heartbeat.ts';
import type { InstalledRegion, Region } from '@webcapture/shared/runtime/regions.ts';
import type { ClusterReports } from './cluster-reports.ts';
import type { CanaryFacts, Facts, QueueFacts, RegionFacts, StorageFacts } from './facts.ts';
import { type KnownDepths, readQueue } from './queue-depths.ts';
import { minSatelliteVersion } from '../leader/fleet-record.ts';
import type { StreamSettings } from '../streams.ts';

export interface CollectorParts {
  readonly session: NatsSession;
  readonly streams: StreamSettings;
  readonly regions: readonly InstalledRegion[];
  /** Maximum number of slots by region for which background captures count; a missing region has no maximum. */
  readonly backgroundSlots?: ReadonlyMap<Region, number>;
  readonly fleet: Fleet;
  readonly storage: { readonly facts: StorageFacts | null };
  readonly clusters: ClusterReports;
  /** Regions that have not worked yet. */
  readonly pending: () => ReadonlySet<Region>;
  readonly canaries: { of(region: Region): CanaryFacts | null };
  /** A monotonic clock. */
  readonly now?: () => number;
}

/** Reads all facts for a decision. Each reading has its own time limit. */
export class Collector {
  readonly #parts: CollectorParts;
  readonly #now: () => number;
  readonly #depths: KnownDepths = new Map();
  #connection = '';
  #fleetKnownFrom = 0;

  constructor(parts: CollectorParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  async read(): Promise<Facts> {
    const { session, streams, regions, storage } = this.#parts;
    const names = regions.map(({ region }) => region);
    const queue = await readQueue(session, streams, names, { known: this.#depths });
    const fleetKnown = this.#isFleetKnown(queue);
    return {
      at: this.#parts.session.now(),
      queue,
      storage: storage.facts,
      regions: regions.map((region) => this.#readRegion(region, queue, fleetKnown)),
      clusters: this.#parts.clusters.list(names, minSatelliteVersion),
    };
  }

  #readRegion({ region, minRenderers }: InstalledRegion, queue: QueueFacts, fleetKnown: boolean): RegionFacts {
    return {
      region,
      wanted: minRenderers,
      backgroundSlots: this.#parts.backgroundSlots?.get(region),
      isPending: this.#parts.pending().has(region),
      fleetKnown,
      pods: this.#parts.fleet.fresh(region),
      silent: this.#parts.fleet.silent(region),
      waiting: queue.kind === 'answered' ? (queue.waiting[region] ?? null) : null,
      canary: this.#parts.canaries.of(region),
      clusters: this.#parts.clusters.of(region),
      unreportedForMs: this.#parts.clusters.unreportedForMs(region),
    };
  }

  /**
   * Heartbeats arrive through NATS. Renderers need time to reconnect and send a heartbeat. A controller that has just lost NATS, or the
   * bucket of the heartbeats, therefore knows nothing about them.
   */
  #isFleetKnown(queue: QueueFacts): boolean {
    const connection = connectionId(this.#parts.session);
    const bucketMissing = queue.kind === 'answered' && queue.missing.includes(streamNames.live);
    if (connection !== this.#connection || bucketMissing) this.#fleetKnownFrom = this.#now() + heartbeatFreshMs;
    this.#connection = connection;
    return this.#parts.session.connected() && this.#now() >= this.#fleetKnownFrom;
  }
}
