import type { Region } from '@webcapture/shared/contract/regions.ts';

/** What is known of an installed region. */
export interface RegionLoad {
  readonly region: Region;
  /** The operator lets it scale to zero: captures wait in its queue for a renderer to come. */
  readonly mayBeEmpty: boolean;
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

export type RegionChoice =
  { readonly region: Region } | { readonly region: null; readonly reason: 'not-installed' | 'no-renderer' };

/**
 * Where a capture goes. A named region is taken or refused, never replaced. `auto` is the home region if it has a free
 * slot, else the region with the most free slots, else the one with the shortest queue; a region without renderers only
 * when no other has any, and only if it may be empty.
 *
 * @param installed in the operator's order, which breaks ties
 */
export function chooseRegion(asked: 'auto' | Region, home: Region, installed: readonly RegionLoad[]): RegionChoice {
  if (asked !== 'auto') {
    const load = installed.find(({ region }) => region === asked);
    if (load === undefined) return { region: null, reason: 'not-installed' };
    return isOpen(load) ? { region: asked } : { region: null, reason: 'no-renderer' };
  }
  const homeFirst = installed.toSorted((a, b) => Number(b.region === home) - Number(a.region === home));
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

const isOpen = ({ renderers, mayBeEmpty }: RegionLoad) => renderers > 0 || mayBeEmpty;

const freeSlots = ({ slots, busy, inFlight }: RegionLoad) => slots - Math.max(busy, inFlight);

const queueLength = ({ queued, inFlight }: RegionLoad) => queued + inFlight;
