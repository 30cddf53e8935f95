import type { RegionFacts } from '../gather/facts.ts';

/**
 * How full a region is, for an autoscaler: captures that run or wait, over the slots there are. 1 is just full. Without any
 * slot each capture counts for itself, so that a first renderer is asked for. Null while it is not known what waits.
 */
export function loadOf({ pods, waiting }: Pick<RegionFacts, 'pods' | 'waiting'>): number | null {
  if (waiting === null) return null;
  const serving = pods.filter(({ draining }) => !draining);
  const slots = serving.reduce((sum, pod) => sum + pod.slots, 0);
  const busy = serving.reduce((sum, pod) => sum + pod.busy, 0);
  const load = (busy + waiting.interactive + waiting.background) / Math.max(1, slots);
  return Math.round(load * 1000) / 1000;
}
