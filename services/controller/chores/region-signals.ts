import type { Region } from '@webcapture/shared/contract/regions.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { signalSubject } from '@webcapture/shared/nats/streams.ts';
import type { Fleet } from '@webcapture/shared/state/fleet.ts';
import type { RegionSignal } from '@webcapture/shared/state/signals.ts';
import type { LatestReading } from '../apply/latest-reading.ts';

/** Renderers look into every shard themselves when they hear nothing for a minute. */
const signalIntervalMs = 5000;

/** How often it is looked whether renderers of a region have died. */
export const signalCheckMs = 1000;

/** What a renderer that fell silent has held is delivered again within this. */
const redeliveryMs = 15_000;

export interface RegionSignalsDeps {
  readonly session: NatsSession;
  readonly regions: readonly Region[];
  readonly fleet: Pick<Fleet, 'silent'>;
  readonly latest: Pick<LatestReading, 'get'>;
}

/**
 * Tells renderers the time, and in which background shards captures wait: whoever queued them may have died before it told,
 * and what a renderer that died has held is told by nobody else. Where one has died, it is told each second for a while.
 */
export class RegionSignals {
  readonly #deps: RegionSignalsDeps;
  #lastAt = -Infinity;

  constructor(deps: RegionSignalsDeps) {
    this.#deps = deps;
  }

  /** To be called each {@link signalCheckMs}. */
  pass(): void {
    const { session, regions, fleet, latest } = this.#deps;
    const queue = latest.get()?.facts.queue;
    const isRegular = performance.now() - this.#lastAt >= signalIntervalMs - signalCheckMs / 2;
    if (isRegular) this.#lastAt = performance.now();
    for (const region of regions) {
      const hasDeath = fleet.silent(region).some(({ forMs }) => forMs < redeliveryMs);
      if (!isRegular && !hasDeath) continue;
      const shards = queue?.kind === 'answered' ? (queue.shards[region] ?? []) : [];
      const signal: RegionSignal = { shards, now: session.now() };
      session.nc.publish(signalSubject(region), JSON.stringify(signal));
    }
  }
}
