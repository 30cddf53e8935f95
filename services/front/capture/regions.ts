import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { backgroundShards, captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { heartbeatIntervalMs } from '@webcapture/shared/queue/heartbeat.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { InstalledRegion, Region } from '@webcapture/shared/runtime/regions.ts';
import { RetryLaterError } from '../admission.ts';
import type { ConnectionMonitor } from '../nats.ts';

/** After this time with heartbeats, every live renderer has sent one. */
const settleTimeoutMs = 1.5 * heartbeatIntervalMs;

/** A restarted server loads its streams before watches can start; until then, no renderer is known. */
const watchTimeoutMs = 10_000;

const pollIntervalMs = 25;

/** Kubernetes replaces a renderer, and a controller creates queues, within seconds. */
const retrySeconds = 10;

interface RegionBoardDeps {
  readonly installed: readonly InstalledRegion[];
  readonly home: Region;
  readonly fleet: Fleet;
  readonly queues: RegionQueues;
  readonly inFlight: InFlight;
  /** Number of queued captures by region. */
  readonly queued: () => Readonly<Record<string, number>>;
  /** Whether the region has never worked, according to the last status report. */
  readonly isPending: (region: Region) => boolean;
  readonly link: ConnectionMonitor;
}

/** The regions as this front currently sees them. */
export class RegionSelector {
  readonly #deps: RegionBoardDeps;

  constructor(deps: RegionBoardDeps) {
    this.#deps = deps;
  }

  /**
   * Chooses the region in which a capture is queued. Usually refuses immediately if no region is available. If the connection or the watch
   * of heartbeats has just started, not all renderers are known yet; then waits at most 3 s without a connection, and 10 s with one.
   *
   * @throws ServiceError REGION_UNAVAILABLE
   */
  async choose(asked: 'auto' | Region): Promise<Region> {
    const askedAt = performance.now();
    for (;;) {
      const choice = chooseRegion(asked, this.#deps.home, this.loads());
      if (choice.region !== null) return choice.region;
      const { link, fleet } = this.#deps;
      const waitedMs = performance.now() - askedAt;
      const isSettled = hasHeardAll({ upForMs: link.upForMs(), watchedForMs: fleet.watchedForMs(), waitedMs });
      if (choice.reason !== 'no-renderer' || isSettled) throw this.#unavailable(asked, choice.reason);
      await delay(pollIntervalMs);
    }
  }

  /** Returns the seconds until a capture that is queued now may start; for `auto`, the minimum of all regions; null if unknown. */
  estimatedWaitSeconds(asked: 'auto' | Region): number | null {
    const loads = this.loads().filter(({ region }) => asked === 'auto' || region === asked);
    const waits = loads.flatMap((load) => estimateWaitSeconds(load) ?? []);
    return waits.length === 0 ? null : Math.min(...waits);
  }

  loads(): readonly RegionLoad[] {
    const { installed, fleet, queues, inFlight, queued, isPending } = this.#deps;
    const waiting = queued();
    return installed.map(({ region, minRenderers }) => ({
      region,
      mayBeEmpty: minRenderers === 0,
      hasQueues: queues.has(region),
      isPending: isPending(region),
      ...fleet.load(region),
      queued: waiting[region] ?? 0,
      inFlight: inFlight.of(region),
    }));
  }

  #unavailable(asked: 'auto' | Region, reason: RefusalReason): ServiceError {
    const names = this.#deps.installed.map(({ region }) => region).join(', ');
    const messages = {
      'not-installed': `The region ${asked} is not installed here. Use one of ${names}, or auto.`,
      pending: `The region ${asked} is not installed yet: no renderer there has ever been ready. Use another region, or auto.`,
      'no-queues': `The region ${asked} is being set up. Try again in ${retrySeconds} s, or use auto.`,
      'no-renderer':
        asked === 'auto'
          ? `No renderer of any region is available now. Try again in ${retrySeconds} s.`
          : `No renderer of the region ${asked} is available now. Try again in ${retrySeconds} s, or use auto.`,
    };
    // The error has no Retry-After, because it is unknown when the operator installs the region.
    if (reason === 'not-installed' || reason === 'pending') {
      return new ServiceError('REGION_UNAVAILABLE', messages[reason], { causedBy: 'client' });
    }
    return new RetryLaterError('REGION_UNAVAILABLE', messages[reason], retrySeconds, { causedBy: 'service' });
  }
}

/** Interval of checks. */
const queuesIntervalMs = 5000;
/** Interval of checks while a queue is missing. */
const missingQueuesIntervalMs = 500;
const queuesTimeoutMs = 2000;

/**
 * Checks whether the queues of the installed regions exist. During an upgrade, a front can know a region before the controllers do. The
 * NATS server stores a job of a missing queue, but does not deliver it.
 */
export class RegionQueues {
  readonly #session: Pick<NatsSession, 'jsm'>;
  readonly #regions: readonly Region[];
  readonly #missing = new Set<Region>();

  constructor(session: Pick<NatsSession, 'jsm'>, installed: readonly InstalledRegion[]) {
    this.#session = session;
    this.#regions = installed.map(({ region }) => region);
  }

  /** Returns the result of the last check; true before the first. */
  has(region: Region): boolean {
    return !this.#missing.has(region);
  }

  /** Checks periodically until the signal aborts. Never throws. */
  async follow(signal: AbortSignal): Promise<void> {
    while (await delay(this.#missing.size > 0 ? missingQueuesIntervalMs : queuesIntervalMs, signal)) await this.look();
  }

  /** Checks the first and the last queue of each region, because queues are created in order. Never throws. */
  async look(): Promise<void> {
    await Promise.all(
      this.#regions.map(async (region) => {
        const durables = [
          captureDurable(region, 'interactive'),
          captureDurable(region, 'background', backgroundShards - 1),
        ];
        const found = Promise.all(durables.map((name) => this.#session.jsm.consumers.info(streamNames.captures, name)));
        try {
          await withDeadline(found, queuesTimeoutMs, `looking for the queues of ${region}`);
          this.#missing.delete(region);
        } catch (error) {
          // If the server does not answer, the last result stays valid.
          if (isNotProvisioned(error)) this.#missing.add(region);
        }
      }),
    );
  }
}

/**
 * Returns whether every renderer must have sent a heartbeat by now, so that a renderer without one is considered unavailable.
 *
 * @param times in milliseconds, 0 if not applicable: since the connection is up, since heartbeats are watched, and since the capture waits
 * for a region
 */
export function hasHeardAll({
  upForMs,
  watchedForMs,
  waitedMs,
}: {
  readonly upForMs: number;
  readonly watchedForMs: number;
  readonly waitedMs: number;
}): boolean {
  const timeoutMs = upForMs > 0 ? watchTimeoutMs : settleTimeoutMs;
  return Math.min(upForMs, watchedForMs) >= settleTimeoutMs || waitedMs >= timeoutMs;
}

/** Current state of an installed region. */
export interface RegionLoad {
  readonly region: Region;
  /** Whether the operator lets the region scale to zero: captures wait in its queue until a renderer starts. */
  readonly mayBeEmpty: boolean;
  /** Whether the queues of the region exist. */
  readonly hasQueues: boolean;
  /** Whether the region is in another cluster and has never worked. */
  readonly isPending: boolean;
  /** Number of renderers that accept captures now. */
  readonly renderers: number;
  /** Total number of slots of these renderers. */
  readonly slots: number;
  /** Slots in use according to the last heartbeats. */
  readonly busy: number;
  /** Number of captures in the queue of the region, according to the last status report. */
  readonly queued: number;
  /** Number of captures of this front in progress in the region. It is more current than heartbeats, but does not include other fronts. */
  readonly inFlight: number;
  /** Recent mean duration of a capture in the region; null if there was none. */
  readonly renderMs: number | null;
}

type RefusalReason = 'not-installed' | 'pending' | 'no-queues' | 'no-renderer';

type RegionChoice = { readonly region: Region } | { readonly region: null; readonly reason: RefusalReason };

/**
 * Chooses the region of a capture. A named region is used or refused, never replaced. `auto` selects the home region if
 * it has a free slot, otherwise the region with the most free slots, otherwise the one with the shortest queue. A region
 * without renderers is used only if no other region has any, and if it may be empty. Regions without queues are never
 * used.
 *
 * @param installed in the operator's order, which breaks ties
 */
export function chooseRegion(asked: 'auto' | Region, home: Region, installed: readonly RegionLoad[]): RegionChoice {
  if (asked !== 'auto') {
    const load = installed.find(({ region }) => region === asked);
    if (load === undefined) return { region: null, reason: 'not-installed' };
    if (!load.hasQueues) return { region: null, reason: 'no-queues' };
    if (load.isPending && load.renderers === 0) return { region: null, reason: 'pending' };
    return isOpen(load) ? { region: asked } : { region: null, reason: 'no-renderer' };
  }
  const queued = installed.filter(({ hasQueues }) => hasQueues);
  const homeFirst = queued.toSorted((a, b) => Number(b.region === home) - Number(a.region === home));
  const healthy = homeFirst.filter(({ renderers }) => renderers > 0);
  const [first] = healthy;
  if (first === undefined) {
    const empty = homeFirst.find(isOpen);
    return empty === undefined ? { region: null, reason: 'no-renderer' } : { region: empty.region };
  }
  if (first.region === home && freeSlots(first) > 0) return { region: home };
  const freest = healthy.reduce((best, load) => (freeSlots(load) > freeSlots(best) ? load : best));
  if (freeSlots(freest) > 0) return { region: freest.region };
  const shortest = healthy.reduce((best, load) => (queueLength(load) < queueLength(best) ? load : best));
  return { region: shortest.region };
}

const isOpen = ({ renderers, mayBeEmpty, isPending }: RegionLoad) => renderers > 0 || (mayBeEmpty && !isPending);

const freeSlots = ({ slots, busy, inFlight }: RegionLoad) => slots - Math.max(busy, inFlight);

const queueLength = ({ queued, inFlight }: RegionLoad) => queued + inFlight;

/** Assumed duration of a capture if none has ended recently. */
const usualRenderMs = 3000;

/**
 * Returns in how many whole seconds a capture that is queued in the region now may start. The estimate divides the waiting captures among
 * the slots, and assumes the recent mean duration for each. Returns null if the region has no slots.
 */
export function estimateWaitSeconds(
  load: Omit<RegionLoad, 'region' | 'mayBeEmpty' | 'hasQueues' | 'isPending' | 'renderers'>,
): number | null {
  const { slots, busy, queued, inFlight, renderMs } = load;
  if (slots === 0) return null;
  if (queued === 0 && Math.max(busy, inFlight) < slots) return 0;
  return Math.ceil(((queued + 1) * (renderMs ?? usualRenderMs)) / slots / 1000);
}

/** Counts captures of this front in progress, by region. */
export class InFlight {
  readonly #counts = new Map<Region, number>();

  of(region: Region): number {
    return this.#counts.get(region) ?? 0;
  }

  /** Counts a capture until the returned function is called. */
  add(region: Region): () => void {
    this.#counts.set(region, this.of(region) + 1);
    let counted = true;
    return () => {
      if (counted) this.#counts.set(region, this.of(region) - 1);
      counted = false;
    };
  }
}
