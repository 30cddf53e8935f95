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

/** For how long a renderer that fell silent is remembered, so that it can be named. */
const memoryMs = 15 * 60_000;

/** A watch of heartbeats that has brought none for so long has died; well before the last one stops being fresh. */
const maxSilenceMs = 3500;

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
      { bucket: 'live', filter: 'fleet.>', maxSilenceMs, ...deps },
      {
        // What is here stays until it is stale: a broken watch is no reason to call the whole fleet dead.
        reset: () => undefined,
        change: ({ key, value }) => this.hear(key, value),
      },
    );
  }

  /** Takes in one heartbeat; null means that the renderer is gone. */
  hear(key: string, heartbeat: RendererHeartbeat | null): void {
    const known = this.#pods.get(key);
    if (heartbeat === null) {
      // A fresh one has said goodbye. Of one that had fallen silent the last word has expired, and it is still missed.
      if (known !== undefined && this.#age(known) <= heartbeatFreshMs) this.#pods.delete(key);
      return;
    }
    // A watch that starts again tells the last heartbeats once more, which is no sign of life.
    if (known?.heartbeat.at === heartbeat.at) return;
    this.#pods.set(key, { heartbeat, heardAt: this.#now() });
  }

  /** All renderers with a fresh heartbeat, of one region or of all. */
  fresh(region?: Region): readonly RendererHeartbeat[] {
    const fresh: RendererHeartbeat[] = [];
    for (const [key, seen] of this.#pods) {
      const age = this.#age(seen);
      if (age > memoryMs) this.#pods.delete(key);
      else if (age <= heartbeatFreshMs && isIn(seen, region)) fresh.push(seen.heartbeat);
    }
    return fresh;
  }

  /** Renderers that fell silent without a goodbye within the last minutes, and for how long each has been silent. */
  silent(region?: Region): readonly { readonly pod: string; readonly forMs: number }[] {
    return [...this.#pods.values()]
      .map((seen) => ({ seen, forMs: this.#age(seen) }))
      .filter(({ seen, forMs }) => forMs > heartbeatFreshMs && isIn(seen, region))
      .map(({ seen, forMs }) => ({ pod: seen.heartbeat.pod, forMs }));
  }

  /** Those that take captures now. */
  serving(region: Region): readonly RendererHeartbeat[] {
    return this.fresh(region).filter((pod) => pod.browser === 'up' && !pod.draining);
  }

  #age(seen: Seen): number {
    return this.#now() - seen.heardAt;
  }
}

const isIn = (seen: Seen, region: Region | undefined) => region === undefined || seen.heartbeat.region === region;
