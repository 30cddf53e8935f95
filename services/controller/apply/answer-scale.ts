import { isRegion } from '@webcapture/shared/contract/regions.ts';
import type { OpsAnswer } from '@webcapture/shared/telemetry/ops-server.ts';
import { loadOf } from '../decide/scale.ts';
import type { LatestReading } from './latest-reading.ts';

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
  const value = facts.fleetKnown ? loadOf(facts) : null;
  if (value === null) return { status: 503, body: { message: `the load of ${region} is not known now` } };
  return { status: 200, body: { value } };
}
