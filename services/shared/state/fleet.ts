import { heartbeatFreshMs, type RendererHeartbeat } from '../contract/heartbeat.ts';
import type { Region } from '../contract/regions.ts';
import type { NatsSession } from '../nats/connect.ts';
import type { Entries } from '../nats/entries.ts';
import { watchKeys } from '../nats/watch.ts';
import type { Logger } from '../telemetry/logger.ts';

const fleetKey = (region: Region, pod: string) => `fleet.${region}.${pod}`;

/** Says that a renderer is alive; the word expires by itself soon after it has stopped being fresh. */
export async function sayHeartbeat(live: Entries, heartbeat: RendererHeartbeat): Promise<void> {
  const ttlSeconds = Math.ceil((heartbeatFreshMs * 2) / 1000);
  await live.put(fleetKey(heartbeat.region, heartbeat.pod), heartbeat, { ttlSeconds });
}

/** Says that a renderer has stopped. */
export async function sayGoodbye(live: Entries, region: Region, pod: string): Promise<void> {
  await live.delete(fleetKey(region, pod));
}

interface Seen {
  readonly heartbeat: RendererHeartbeat;
  readonly heardAt: number;
}

/**
 * The renderers that are alive, kept in memory from their heartbeats. Freshness is judged on this process's own clock,
 * by when a heartbeat arrived, so that no pod's clock matters.
 */
export class Fleet {
  readonly #pods = new Map<string, Seen>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Follows the heartbeats until the signal aborts. */
  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<RendererHeartbeat>(
      session,
      { bucket: 'live', filter: 'fleet.>', ...deps },
      {
        // What is here stays until it is stale: a broken watch is no reason to call the whole fleet dead.
        reset: () => undefined,
        change: ({ key, value }) => this.hear(key, value),
      },
    );
  }

  /** Takes in one heartbeat; null means that the renderer is gone. */
  hear(key: string, heartbeat: RendererHeartbeat | null): void {
    if (heartbeat === null) this.#pods.delete(key);
    else this.#pods.set(key, { heartbeat, heardAt: this.#now() });
  }

  /** All renderers with a fresh heartbeat, of one region or of all. */
  fresh(region?: Region): readonly RendererHeartbeat[] {
    const oldest = this.#now() - heartbeatFreshMs;
    const fresh: RendererHeartbeat[] = [];
    for (const [key, { heartbeat, heardAt }] of this.#pods) {
      if (heardAt < oldest) this.#pods.delete(key);
      else if (region === undefined || heartbeat.region === region) fresh.push(heartbeat);
    }
    return fresh;
  }

  /** Those that take captures now. */
  serving(region: Region): readonly RendererHeartbeat[] {
    return this.fresh(region).filter((pod) => pod.browser === 'up' && !pod.draining);
  }
}
