import { Counter, type Registry } from 'prom-client';
import type { NatsSession } from '../nats/connect.ts';
import { watchKeys } from '../nats/watch.ts';
import type { Logger } from '../runtime/logger.ts';
import { ThrottledLogger } from '../runtime/throttled-logger.ts';
import type { Region } from '../runtime/regions.ts';
import { heartbeatFreshMs, maxHeartbeatBytes } from './heartbeat.ts';
import { parseHeartbeat, type RendererHeartbeat } from './parse-heartbeat.ts';

/** Time for which a silent renderer is remembered, so that messages can name it. */
const memoryMs = 15 * 60_000;

/** Time without heartbeats after which a watch is considered broken. It is shorter than the time for which a heartbeat is fresh. */
const maxSilenceMs = 3500;

/**
 * Maximum number of renderers of a region. It limits the memory that a compromised renderer can use in other processes with invented names.
 */
const maxPodsPerRegion = 10_000;
const maxSilentPerRegion = 1000;

/** Time for which a renderer whose pod runs another process is listed. */
const replacedMs = 10_000;
const maxReplaced = 1000;

/** Maximum delay until sums reflect a silent renderer. */
const sweepMs = 250;

interface Seen {
  readonly heartbeat: RendererHeartbeat;
  /** Instance of the previous process under the same name. */
  readonly previousInstance: string | undefined;
  readonly revision: number;
  readonly heardAt: number;
}

/** Sums over those renderers of a region that currently accept captures. */
export interface FleetLoad {
  readonly renderers: number;
  readonly slots: number;
  /** Number of busy slots according to the last heartbeats. */
  readonly busy: number;
  /** Recent mean duration of a capture, weighted by the captures of each renderer; null if there was none. */
  readonly renderMs: number | null;
}

/** The last heartbeat of a silent renderer, and the time for which it has been silent. */
export type SilentRenderer = RendererHeartbeat & { readonly forMs: number };

/** The last heartbeat of a renderer whose pod now runs another process. */
export interface ReplacedRenderer extends SilentRenderer {
  /** Time since the first heartbeat of that process. */
  readonly successorForMs: number;
}

interface RegionSums {
  renderers: number;
  slots: number;
  busy: number;
  ended: number;
  /** Whole milliseconds, so that additions and subtractions cancel out exactly. */
  spentMs: number;
  fresh: number;
  silent: number;
}

/**
 * Kinds of invalid heartbeats. `malformed` and `too_many` are ignored. `conflict` means that two processes use the same pod name at the
 * same time.
 */
const faults = ['malformed', 'too_many', 'conflict'] as const;
export type HeartbeatFault = (typeof faults)[number];

/**
 * Keeps the live renderers in memory, as their heartbeats describe them. Each heartbeat updates sums by region. Reading these sums takes
 * the same time for any number of pods. Freshness is measured from the arrival of a heartbeat, by the clock of this process, so the clocks
 * of pods do not matter. Heartbeats are not trusted.
 */
export class Fleet {
  /** Renderers in the order of their last heartbeat, the oldest first. */
  readonly #fresh = new Map<string, Seen>();
  readonly #silent = new Map<string, Seen>();
  #replaced: (Seen & { readonly replacedAt: number })[] = [];
  readonly #sums = new Map<Region, RegionSums>();
  readonly #now: () => number;
  readonly #onFault: (fault: HeartbeatFault, key: string) => void;
  #sweptAt = -Infinity;
  /** Null while heartbeats are not watched. */
  #watchedSince: number | null = null;

  constructor(
    now: () => number = () => performance.now(),
    onFault: (fault: HeartbeatFault, key: string) => void = () => undefined,
  ) {
    this.#now = now;
    this.#onFault = onFault;
  }

  /** Follows the heartbeats until the signal aborts. */
  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<unknown>(
      session,
      { bucket: 'live', filter: 'fleet.>', maxSilenceMs, maxBytes: maxHeartbeatBytes, ...deps },
      {
        // The renderers are kept until their heartbeats are stale, because a broken watch does not mean that they are dead.
        reset: () => {
          this.#watchedSince = this.#now();
        },
        broken: () => {
          this.#watchedSince = null;
        },
        change: ({ key, value, revision }) => this.apply(key, value, revision),
        malformed: (key) => this.#onFault('malformed', key),
      },
    );
  }

  /** Returns the milliseconds for which heartbeats have arrived without a gap; 0 if they do not arrive. */
  watchedForMs(): number {
    return this.#watchedSince === null ? 0 : this.#now() - this.#watchedSince;
  }

  /** Applies one heartbeat. Null means that it was withdrawn or has expired. `revision` distinguishes the heartbeats of a pod. */
  apply(key: string, value: unknown, revision: number): void {
    const now = this.#now();
    this.#sweep(now, sweepMs);
    const fresh = this.#fresh.get(key);
    const known = fresh ?? this.#silent.get(key);
    if (value === null) {
      // If the heartbeat is fresh, it was withdrawn. If it is stale, it has expired, and its renderer is still considered missing.
      if (fresh !== undefined && now - fresh.heardAt <= heartbeatFreshMs) this.#forget(key, fresh);
      return;
    }
    const heartbeat = parseHeartbeat(key, value);
    if (heartbeat === null) return this.#onFault('malformed', key);
    // A restarted watch delivers the last heartbeats again, so they do not show that the renderer is alive.
    if (known?.revision === revision) return;
    const sums = this.#sumsOf(heartbeat.region);
    if (fresh === undefined && sums.fresh >= maxPodsPerRegion) return this.#onFault('too_many', key);
    const { instance } = heartbeat;
    const isSame = known === undefined || known.heartbeat.instance === instance;
    // A successor changes the instance once. If two processes have the same name, the instance alternates.
    if (!isSame) {
      if (instance === known.previousInstance) this.#onFault('conflict', key);
      else this.#replaced = [...this.#justReplaced(now), { ...known, replacedAt: now }];
    }
    if (fresh !== undefined) this.#forget(key, fresh);
    else if (this.#silent.delete(key)) sums.silent--;
    const previousInstance = isSame ? known?.previousInstance : known.heartbeat.instance;
    this.#fresh.set(key, { heartbeat, previousInstance, revision, heardAt: now });
    sums.fresh++;
    this.#count(heartbeat, 1);
  }

  /** Returns the sums of the renderers that currently accept captures. */
  load(region: Region): FleetLoad {
    this.#sweep(this.#now(), sweepMs);
    const { renderers, slots, busy, ended, spentMs } = this.#sumsOf(region);
    return { renderers, slots, busy, renderMs: ended === 0 || spentMs === 0 ? null : spentMs / ended };
  }

  /** Returns all renderers with a fresh heartbeat, of one region or of all. */
  fresh(region?: Region): readonly RendererHeartbeat[] {
    this.#sweep(this.#now(), 0);
    const all = [...this.#fresh.values()].map(({ heartbeat }) => heartbeat);
    return region === undefined ? all : all.filter((heartbeat) => heartbeat.region === region);
  }

  /** Like {@link fresh}, with the milliseconds since the last heartbeat. */
  heard(region: Region): readonly { readonly heartbeat: RendererHeartbeat; readonly ageMs: number }[] {
    const now = this.#now();
    this.#sweep(now, 0);
    const all = [...this.#fresh.values()].filter(({ heartbeat }) => heartbeat.region === region);
    return all.map(({ heartbeat, heardAt }) => ({ heartbeat, ageMs: now - heardAt }));
  }

  /** Returns renderers that became silent within the last minutes without withdrawing, and the duration of the silence. */
  silent(region?: Region): readonly SilentRenderer[] {
    const now = this.#now();
    this.#sweep(now, 0);
    return [...this.#silent.values()]
      .filter(({ heartbeat }) => region === undefined || heartbeat.region === region)
      .map(({ heartbeat, heardAt }) => ({ ...heartbeat, forMs: now - heardAt }));
  }

  /** Returns renderers whose pods have had another process for some seconds, and that did not withdraw. */
  replaced(): readonly ReplacedRenderer[] {
    const now = this.#now();
    return this.#justReplaced(now).map(({ heartbeat, heardAt, replacedAt }) => ({
      ...heartbeat,
      forMs: now - heardAt,
      successorForMs: now - replacedAt,
    }));
  }

  #justReplaced(now: number) {
    return this.#replaced.filter(({ replacedAt }) => now - replacedAt <= replacedMs).slice(-maxReplaced);
  }

  /** Returns the renderers that currently accept captures. */
  serving(region: Region): readonly RendererHeartbeat[] {
    return this.fresh(region).filter(isServing);
  }

  /** Removes renderers that have become silent from the fresh ones, at most every `everyMs`. Visits only these renderers. */
  #sweep(now: number, everyMs: number): void {
    if (now - this.#sweptAt < everyMs) return;
    this.#sweptAt = now;
    for (const [key, seen] of this.#fresh) {
      if (now - seen.heardAt <= heartbeatFreshMs) break;
      this.#forget(key, seen);
      const sums = this.#sumsOf(seen.heartbeat.region);
      if (sums.silent >= maxSilentPerRegion) continue;
      sums.silent++;
      this.#silent.set(key, seen);
    }
    for (const [key, { heartbeat, heardAt }] of this.#silent) {
      if (now - heardAt <= memoryMs) break;
      this.#silent.delete(key);
      this.#sumsOf(heartbeat.region).silent--;
    }
  }

  #forget(key: string, { heartbeat }: Seen): void {
    this.#fresh.delete(key);
    this.#sumsOf(heartbeat.region).fresh--;
    this.#count(heartbeat, -1);
  }

  #count(heartbeat: RendererHeartbeat, sign: 1 | -1): void {
    if (!isServing(heartbeat)) return;
    const sums = this.#sumsOf(heartbeat.region);
    const { ended, meanRenderMs = 0 } = heartbeat.recent;
    sums.renderers += sign;
    sums.slots += sign * heartbeat.slots;
    sums.busy += sign * heartbeat.busy;
    sums.ended += sign * ended;
    sums.spentMs += sign * Math.round(ended * meanRenderMs);
  }

  #sumsOf(region: Region): RegionSums {
    const known = this.#sums.get(region);
    if (known !== undefined) return known;
    const sums = { renderers: 0, slots: 0, busy: 0, ended: 0, spentMs: 0, fresh: 0, silent: 0 };
    this.#sums.set(region, sums);
    return sums;
  }
}

const isServing = ({ browser, draining }: RendererHeartbeat) => browser === 'up' && !draining;

/** Counts invalid heartbeats, and logs some of them. */
export function createHeartbeatFaults(registry: Registry, log: Logger): (fault: HeartbeatFault, key: string) => void {
  const counter = new Counter({
    name: 'webcapture_heartbeat_faults_total',
    help: 'Invalid heartbeats of renderers, by reason: malformed, too_many (the region has more pods than allowed), or conflict (two processes use the same pod name). Heartbeats that are malformed or too many are ignored.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of faults) counter.inc({ reason }, 0);
  const rarely = new ThrottledLogger(log);
  return (reason, key) => {
    counter.inc({ reason });
    rarely.warn({ reason, key: key.slice(0, 300) }, 'invalid heartbeat of a renderer');
  };
}
