import { Counter, type Registry } from 'prom-client';
import type { NatsSession } from '../nats/connect.ts';
import { watchKeys } from '../nats/watch.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Region } from '../runtime/regions.ts';
import { heartbeatFreshMs, maxHeartbeatBytes } from './heartbeat.ts';
import { parseHeartbeat, type RendererHeartbeat } from './parse-heartbeat.ts';

/** For how long a renderer that fell silent is remembered, so that it can be named. */
const memoryMs = 15 * 60_000;

/** A watch of heartbeats that has been silent for this long is dead; shorter than the freshness of the last heartbeat. */
const maxSilenceMs = 3500;

/** Bounds the memory that a renderer can use in other processes by writing under invented names. */
const maxPodsPerRegion = 10_000;
const maxSilentPerRegion = 1000;

/** How long a renderer whose pod runs another process is listed. */
const replacedMs = 10_000;
const maxReplaced = 1000;

/** Maximum delay until sums reflect a silent renderer. */
const sweepMs = 250;

interface Seen {
  readonly heartbeat: RendererHeartbeat;
  /** Of the process before this one under the same name. */
  readonly previousInstance: string | undefined;
  readonly revision: number;
  readonly heardAt: number;
}

/** The renderers of a region that take captures now, together. */
export interface FleetLoad {
  readonly renderers: number;
  readonly slots: number;
  /** Of these slots, by the last heartbeats. */
  readonly busy: number;
  /** How long a capture took on average of late, each renderer as often as it has captured; null when there was none. */
  readonly renderMs: number | null;
}

/** A renderer that fell silent, by its last heartbeat. */
export type SilentRenderer = RendererHeartbeat & { readonly forMs: number };

/** A renderer whose pod has another process by now, by its last heartbeat. */
export interface ReplacedRenderer extends SilentRenderer {
  /** Since the first heartbeat of that process. */
  readonly successorForMs: number;
}

interface RegionSums {
  renderers: number;
  slots: number;
  busy: number;
  ended: number;
  /** Whole milliseconds, so that what is added and subtracted again leaves nothing. */
  spentMs: number;
  fresh: number;
  silent: number;
}

/** `malformed` and `too_many` are ignored; a `conflict` is a pod whose name two processes use at the same time. */
const faults = ['malformed', 'too_many', 'conflict'] as const;
export type HeartbeatFault = (typeof faults)[number];

/**
 * The renderers that are alive, kept in memory from their heartbeats, with sums by region that are kept up to date with
 * each heartbeat: to ask for them costs the same for any number of pods. Freshness is judged on this process's own clock,
 * by when a heartbeat arrived, so that no pod's clock matters. Heartbeats are not trusted.
 */
export class Fleet {
  /** Both from the one that was heard first to the one heard last. */
  readonly #fresh = new Map<string, Seen>();
  readonly #silent = new Map<string, Seen>();
  #replaced: (Seen & { readonly replacedAt: number })[] = [];
  readonly #sums = new Map<Region, RegionSums>();
  readonly #now: () => number;
  readonly #onFault: (fault: HeartbeatFault, key: string) => void;
  #sweptAt = -Infinity;
  /** Null while no watch brings heartbeats. */
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
        // What is here stays until it is stale: a broken watch is no reason to call the whole fleet dead.
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

  /** For how long heartbeats have been heard without a gap; 0 while they are not. */
  watchedForMs(): number {
    return this.#watchedSince === null ? 0 : this.#now() - this.#watchedSince;
  }

  /** Applies one heartbeat; null means that the renderer is gone. `revision` distinguishes the heartbeats of a pod. */
  apply(key: string, value: unknown, revision: number): void {
    const now = this.#now();
    this.#sweep(now, sweepMs);
    const fresh = this.#fresh.get(key);
    const known = fresh ?? this.#silent.get(key);
    if (value === null) {
      // A fresh one was withdrawn. That of a renderer that had fallen silent has expired, and the renderer is still missed.
      if (fresh !== undefined && now - fresh.heardAt <= heartbeatFreshMs) this.#forget(key, fresh);
      return;
    }
    const heartbeat = parseHeartbeat(key, value);
    if (heartbeat === null) return this.#onFault('malformed', key);
    // A restarted watch delivers the last heartbeats again, which is no sign of life.
    if (known?.revision === revision) return;
    const sums = this.#sumsOf(heartbeat.region);
    if (fresh === undefined && sums.fresh >= maxPodsPerRegion) return this.#onFault('too_many', key);
    const { instance } = heartbeat;
    const isSame = known === undefined || known.heartbeat.instance === instance;
    // A successor is one change of the instance; a second process under the name lets it change back.
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

  /** Of those that take captures now. */
  load(region: Region): FleetLoad {
    this.#sweep(this.#now(), sweepMs);
    const { renderers, slots, busy, ended, spentMs } = this.#sumsOf(region);
    return { renderers, slots, busy, renderMs: ended === 0 || spentMs === 0 ? null : spentMs / ended };
  }

  /** All renderers with a fresh heartbeat, of one region or of all. */
  fresh(region?: Region): readonly RendererHeartbeat[] {
    this.#sweep(this.#now(), 0);
    const all = [...this.#fresh.values()].map(({ heartbeat }) => heartbeat);
    return region === undefined ? all : all.filter((heartbeat) => heartbeat.region === region);
  }

  /** As {@link fresh}, with the milliseconds since each was heard of. */
  heard(region: Region): readonly { readonly heartbeat: RendererHeartbeat; readonly ageMs: number }[] {
    const now = this.#now();
    this.#sweep(now, 0);
    const all = [...this.#fresh.values()].filter(({ heartbeat }) => heartbeat.region === region);
    return all.map(({ heartbeat, heardAt }) => ({ heartbeat, ageMs: now - heardAt }));
  }

  /** Renderers that fell silent within the last minutes without withdrawing, and for how long each has been silent. */
  silent(region?: Region): readonly SilentRenderer[] {
    const now = this.#now();
    this.#sweep(now, 0);
    return [...this.#silent.values()]
      .filter(({ heartbeat }) => region === undefined || heartbeat.region === region)
      .map(({ heartbeat, heardAt }) => ({ ...heartbeat, forMs: now - heardAt }));
  }

  /** Renderers whose pods have had another process for some seconds: they did not withdraw. */
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

  /** Those that take captures now, each by itself. */
  serving(region: Region): readonly RendererHeartbeat[] {
    return this.fresh(region).filter(isServing);
  }

  /** Moves those that have fallen silent, unless that was done within `everyMs`; looks at no others. */
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

/** A compromised renderer may send thousands of invalid heartbeats a second; one per interval is logged. */
const logIntervalMs = 10_000;

/** Counts heartbeats that cannot be right, and logs one now and then. */
export function createHeartbeatFaults(registry: Registry, log: Logger): (fault: HeartbeatFault, key: string) => void {
  const counter = new Counter({
    name: 'webcapture_heartbeat_faults_total',
    help: 'Invalid heartbeats of renderers, by reason: malformed, too_many (the region has more pods than allowed), or conflict (two processes use the same pod name). Heartbeats that are malformed or too many are ignored.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of faults) counter.inc({ reason }, 0);
  let loggedAt = -Infinity;
  return (reason, key) => {
    counter.inc({ reason });
    if (performance.now() - loggedAt < logIntervalMs) return;
    loggedAt = performance.now();
    log.warn({ reason, key: key.slice(0, 300) }, 'invalid heartbeat of a renderer');
  };
}
