import { isRegion } from '@webcapture/shared/runtime/regions.ts';
import type { OpsAnswer } from '@webcapture/shared/runtime/ops-server.ts';
import type { LatestReading, RegionFacts } from './facts.ts';
import { capacityOf } from './renderers.ts';

/**
 * Answers `GET /scale/<region>` for autoscalers (KEDA's metrics-api): `{"value": <load>}`, where 1 means that all slots
 * are busy and nothing waits. Answers 503 while the load is unknown, so that the autoscaler keeps the current replicas.
 * Returns null for other paths.
 */
export function answerScale(path: string, latest: LatestReading): OpsAnswer | null {
  const [, region] = /^\/scale\/([^/]*)$/.exec(path) ?? [];
  if (region === undefined) return null;
  const reading = latest.get();
  if (reading === null) return { status: 503, body: { message: 'the load is currently unknown' } };
  const { regions } = reading.facts;
  const facts = isRegion(region) ? regions.find((each) => each.region === region) : undefined;
  if (facts === undefined) {
    const installed = regions.map((each) => each.region).join(', ');
    return { status: 404, body: { message: `no region ${region} is installed; there are: ${installed}` } };
  }
  const value = loadOf(facts);
  if (value === null) return { status: 503, body: { message: `the load of ${region} is currently unknown` } };
  return { status: 200, body: { value } };
}

/**
 * Returns the load of a region for an autoscaler: captures that run or wait, divided by the slots. Without slots, the load is the number of
 * captures, so that a first renderer is requested. Returns null while the queue depth is unknown. No client waits for background captures,
 * and they fill every renderer that is added for them. They are therefore counted, waiting or running, up to the number of slots that the
 * operator grants them.
 */
export function loadOf(facts: Pick<RegionFacts, 'fleetKnown' | 'pods' | 'waiting' | 'backgroundSlots'>): number | null {
  const { fleetKnown, pods, waiting, backgroundSlots = Infinity } = facts;
  if (!fleetKnown || waiting === null) return null;
  const { slots, busy } = capacityOf(pods);
  // A renderer that has just died, or is draining, holds captures but has no slot.
  const background = Math.min(waiting.backgroundHeld, busy);
  const interactive = busy - background + waiting.interactive;
  const load = (interactive + Math.min(background + waiting.background, backgroundSlots)) / Math.max(1, slots);
  return Math.round(load * 1000) / 1000;
}
