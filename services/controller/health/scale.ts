import { isRegion } from '@webcapture/shared/runtime/regions.ts';
import type { OpsAnswer } from '@webcapture/shared/runtime/ops-server.ts';
import type { LatestReading, RegionFacts } from './facts.ts';
import { capacityOf } from './renderers.ts';

/**
 * `GET /scale/<region>` for autoscalers (KEDA's metrics-api): `{"value": <load>}`, 1 where all slots are taken and nothing
 * waits. 503 while the load is not known, so that the autoscaler keeps what there is. Null for other paths.
 */
export function answerScale(path: string, latest: LatestReading): OpsAnswer | null {
  const [, region] = /^\/scale\/([^/]*)$/.exec(path) ?? [];
  if (region === undefined) return null;
  const reading = latest.get();
  if (reading === null) return { status: 503, body: { message: 'the load is not known yet, or no longer' } };
  const { regions } = reading.facts;
  const facts = isRegion(region) ? regions.find((each) => each.region === region) : undefined;
  if (facts === undefined) {
    const installed = regions.map((each) => each.region).join(', ');
    return { status: 404, body: { message: `no region ${region} is installed; there are: ${installed}` } };
  }
  const value = loadOf(facts);
  if (value === null) return { status: 503, body: { message: `the load of ${region} is not known now` } };
  return { status: 200, body: { value } };
}

/**
 * How full a region is, for an autoscaler: captures that run or wait, over the slots there are. 1 is just full. Without any
 * slot each capture counts for itself, so that a first renderer is asked for. Null while it is not known what waits.
 *
 * Nobody waits for background captures, and they fill every renderer that is added for them: so they count for no more slots than
 * the operator grants them, whether they run or wait.
 */
export function loadOf(facts: Pick<RegionFacts, 'fleetKnown' | 'pods' | 'waiting' | 'backgroundSlots'>): number | null {
  const { fleetKnown, pods, waiting, backgroundSlots = Infinity } = facts;
  if (!fleetKnown || waiting === null) return null;
  const { slots, busy } = capacityOf(pods);
  // A renderer that just died, or is draining, holds captures without a slot.
  const background = Math.min(waiting.backgroundHeld, busy);
  const interactive = busy - background + waiting.interactive;
  const load = (interactive + Math.min(background + waiting.background, backgroundSlots)) / Math.max(1, slots);
  return Math.round(load * 1000) / 1000;
}
