import type { LatestReading } from '../apply/latest-reading.ts';
import { isWorthWriting, regionStatus } from '../decide/region-resource.ts';
import type { Term } from '../leader/election.ts';
import { isConflict, isNotFound } from './api-error.ts';
import type { KubeConnection } from './connection.ts';
import type { RegionEvents } from './events.ts';
import type { Inventory } from './inventory.ts';
import type { KubeMetrics } from './metrics.ts';
import { renderRegionApi, type RenderRegion, type RenderRegionStatus } from './objects.ts';

export interface RegionsParts {
  readonly connection: KubeConnection;
  readonly inventory: Inventory;
  readonly latest: LatestReading;
  readonly events: RegionEvents;
  readonly metrics: KubeMetrics;
}

/** Shorter than the margin of the Lease: no write of a former leader comes after its successor's first. */
const limitMs = 2000;

/** Brings the status of every RenderRegion to what was decided last; says each change of state in an Event. */
export async function applyRegions(parts: RegionsParts, term: Term): Promise<void> {
  const reading = parts.latest.get();
  if (reading === null || reading.report === null) return;
  const { facts, report } = reading;
  for (const resource of parts.inventory.regions) {
    const { region } = resource.spec;
    const component = report.components.find(({ name }) => name === `engine.${region}`);
    const regionFacts = facts.regions.find((each) => each.region === region);
    if (component === undefined || regionFacts === undefined) continue;
    const now = Date.now();
    const queued = report.queued[region] ?? 0;
    const status = regionStatus({ resource, component, facts: regionFacts, queued, now });
    if (!isWorthWriting(resource.status, status, now)) continue;
    if (!term.holds()) return;
    await write(parts, resource, status, term);
  }
}

async function write(
  parts: RegionsParts,
  resource: RenderRegion,
  status: RenderRegionStatus,
  term: Term,
): Promise<void> {
  const { connection, metrics, events } = parts;
  const { name, namespace, resourceVersion } = resource.metadata;
  try {
    await connection.request({
      method: 'PUT',
      path: `/apis/${renderRegionApi}/namespaces/${namespace}/renderregions/${name}/status`,
      body: {
        apiVersion: renderRegionApi,
        kind: 'RenderRegion',
        metadata: { name, namespace, resourceVersion },
        status,
      },
      limitMs,
    });
  } catch (error) {
    // It was changed or deleted since: its watch brings that, and the next pass decides anew.
    if (isConflict(error) || isNotFound(error)) return;
    throw error;
  }
  metrics.wrote('renderregion');
  const was = resource.status?.status ?? 'operational';
  if (was === status.status || !term.holds()) return;
  await events.tell(resource, status.status, status.message);
  metrics.wrote('event');
}
