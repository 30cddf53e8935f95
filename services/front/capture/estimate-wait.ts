import type { RegionLoad } from './choose-region.ts';

/** What a capture is taken to last where none has ended of late. */
const usualRenderMs = 3000;

/**
 * In how many whole seconds a capture that is queued in the region now may begin: those that wait, spread over the
 * region's slots, each as long as captures took there of late. Null when the region has no slots.
 */
export function estimateWaitSeconds(load: Omit<RegionLoad, 'region' | 'mayBeEmpty' | 'renderers'>): number | null {
  const { slots, busy, queued, inFlight, renderMs } = load;
  if (slots === 0) return null;
  if (queued === 0 && Math.max(busy, inFlight) < slots) return 0;
  return Math.ceil(((queued + 1) * (renderMs ?? usualRenderMs)) / slots / 1000);
}
