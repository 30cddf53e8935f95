import { isNotProvisioned } from '@webcapture/shared/nats/api-errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { backgroundShards, captureDurable, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { heartbeatIntervalMs } from '@webcapture/shared/queue/heartbeat.ts';
import { delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { InstalledRegion, Region } from '@webcapture/shared/runtime/regions.ts';
import { RetryLaterError } from '../admission.ts';
import type { NatsLink } from '../nats.ts';

/** When heartbeats have been heard again for so long, every renderer that lives has said so. */
const settleTimeoutMs = 1.5 * heartbeatIntervalMs;

/** A server that has just restarted reads its streams before a watch of them can begin: nothing is known of any renderer until then. */
const watchTimeoutMs = 10_000;

const pollIntervalMs = 25;

/** Kubernetes replaces a renderer within seconds, and a controller creates queues as fast. */
const retrySeconds = 10;

interface RegionBoardDeps {
  readonly installed: readonly InstalledRegion[];
  readonly home: Region;
  readonly fleet: Pick<Fleet, 'load' | 'watchedForMs'>;
  readonly queues: Pick<RegionQueues, 'has'>;
  readonly inFlight: InFlight;
  /** Captures that wait, by region. */
  readonly queued: () => Readonly<Record<string, number>>;
  /** Whether the region has never worked, according to the last status report. */
  readonly isPending: (region: Region) => boolean;
  readonly link: Pick<NatsLink, 'upForMs'>;
}

/** The regions as this front sees them now. */
export class RegionBoard {
  readonly #deps: RegionBoardDeps;

  constructor(deps: RegionBoardDeps) {
    this.#deps = deps;
  }

  /**
   * The region that a capture is queued in. Refuses at once, unless the connection or the watch of heartbeats has
   * just come up and the renderers have not all been heard yet. Without a connection it waits for 3 s, with one for 10 s at most.
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

  /** In how many seconds a capture that is queued now may begin, `auto`: at best; null when nobody can tell. */
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
      pending: `The region ${asked} is not installed yet: none of its renderers has ever worked. Use another region, or auto.`,
      'no-queues': `The region ${asked} is being set up. Try again in ${retrySeconds} s, or use auto.`,
      'no-renderer':
        asked === 'auto'
          ? `No renderer of any region is available now. Try again in ${retrySeconds} s.`
          : `No renderer of the region ${asked} is available now. Try again in ${retrySeconds} s, or use auto.`,
    };
    // When an operator installs a region is not known.
    if (reason === 'not-installed' || reason === 'pending') {
      return new ServiceError('REGION_UNAVAILABLE', messages[reason], { causedBy: 'client' });
    }
    return new RetryLaterError('REGION_UNAVAILABLE', messages[reason], retrySeconds, { causedBy: 'service' });
  }
}

/** Milliseconds between two checks, and between two checks while a queue is missing. */
const queuesIntervalMs = 5000;
const missingQueuesIntervalMs = 500;
const queuesTimeoutMs = 2000;

/**
 * Checks whether the queues of the installed regions exist. During an upgrade, a front can have a region before the controllers do. The NATS
 * server stores a job that has no queue, but delivers it to no renderer.
 */
export class RegionQueues {
  readonly #session: Pick<NatsSession, 'jsm'>;
  readonly #regions: readonly Region[];
  readonly #missing = new Set<Region>();

  constructor(session: Pick<NatsSession, 'jsm'>, installed: readonly InstalledRegion[]) {
    this.#session = session;
    this.#regions = installed.map(({ region }) => region);
  }

  /** The result of the last check; true before the first. */
  has(region: Region): boolean {
    return !this.#missing.has(region);
  }

  /** Repeats the check until the signal aborts. Never throws. */
  async follow(signal: AbortSignal): Promise<void> {
    while (await delay(this.#missing.size > 0 ? missingQueuesIntervalMs : queuesIntervalMs, signal)) await this.look();
  }

  /** Checks the first and the last queue of each region, since queues are created in order. Never throws. */
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
          // A server that does not answer says nothing about them.
          if (isNotProvisioned(error)) this.#missing.add(region);
        }
      }),
    );
  }
}

/**
 * Whether a renderer that has not been heard is taken for one that is not there.
 *
 * @param times in milliseconds, 0 for what is not: since when the connection is up, since when heartbeats are watched, and for how
 *   long the capture has waited for it
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

/** What is known of an installed region. */
export interface RegionLoad {
  readonly region: Region;
  /** The operator lets it scale to zero: captures wait in its queue for a renderer to come. */
  readonly mayBeEmpty: boolean;
  /** Its queues exist. */
  readonly hasQueues: boolean;
  /** It is in another cluster, and has never worked. */
  readonly isPending: boolean;
  /** Renderers that take captures now, their slots, and how many of these were taken when they last said so. */
  readonly renderers: number;
  readonly slots: number;
  readonly busy: number;
  /** Captures that wait there, as far as the last status report tells. */
  readonly queued: number;
  /** Captures of this front that are under way there: newer than any heartbeat, but only its own. */
  readonly inFlight: number;
  /** How long a capture there took on average of late; null when there was none. */
  readonly renderMs: number | null;
}

type RefusalReason = 'not-installed' | 'pending' | 'no-queues' | 'no-renderer';

type RegionChoice = { readonly region: Region } | { readonly region: null; readonly reason: RefusalReason };

/**
 * Where a capture goes. A named region is taken or refused, never replaced. `auto` is the home region if it has a free
 * slot, else the region with the most free slots, else the one with the shortest queue; a region without renderers only
 * when no other has any, and only if it may be empty. A region whose queues are not there takes nothing.
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

/** What a capture is taken to last where none has ended of late. */
const usualRenderMs = 3000;

/**
 * In how many whole seconds a capture that is queued in the region now may begin: those that wait, spread over the
 * region's slots, each as long as captures took there of late. Null when the region has no slots.
 */
export function estimateWaitSeconds(
  load: Omit<RegionLoad, 'region' | 'mayBeEmpty' | 'hasQueues' | 'isPending' | 'renderers'>,
): number | null {
  const { slots, busy, queued, inFlight, renderMs } = load;
  if (slots === 0) return null;
  if (queued === 0 && Math.max(busy, inFlight) < slots) return 0;
  return Math.ceil(((queued + 1) * (renderMs ?? usualRenderMs)) / slots / 1000);
}

/** How many captures of this front are under way, by region. */
export class InFlight {
  readonly #counts = new Map<Region, number>();

  of(region: Region): number {
    return this.#counts.get(region) ?? 0;
  }

  /** Counts one until the function that it returns is called. */
  add(region: Region): () => void {
    this.#counts.set(region, this.of(region) + 1);
    let counted = true;
    return () => {
      if (counted) this.#counts.set(region, this.of(region) - 1);
      counted = false;
    };
  }
}
