import { randomUUID } from 'node:crypto';
import { CustomObjectsApi, EventsV1Api, V1MicroTime } from '@kubernetes/client-node';
import type { StatusValue } from '@webcapture/shared/api/status.ts';
import type { LatestReading } from '../health/facts.ts';
import type { Term } from '../leader/election.ts';
import { isConflict, isNotFound, type KubernetesClient } from './client.ts';
import type { Inventory } from './inventory.ts';
import type { KubernetesMetrics } from './metrics.ts';
import { renderRegionApi, renderRegions, type RenderRegion, type RenderRegionStatus } from './objects.ts';
import { isWorthWriting, regionStatus, reasonOf } from './region-status.ts';

export interface RegionsParts {
  readonly client: KubernetesClient;
  readonly inventory: Inventory;
  readonly latest: LatestReading;
  readonly events: RegionEvents;
  readonly metrics: KubernetesMetrics;
  /** The server's clock, Unix ms. */
  readonly now: () => number;
}

/**
 * Timeout of a write. It is shorter than the margin of the Lease, so that no write of a former leader follows the first write of its
 * successor.
 */
const timeoutMs = 2000;

/** Writes the last decision into the status of every RenderRegion, and records each change of state as an Event. */
export async function applyRegions(parts: RegionsParts, term: Term): Promise<void> {
  await applyStatus(parts, term);
  await parts.events.follow([...parts.inventory.regions], {
    holds: () => term.holds(),
    onRecorded: () => parts.metrics.writes.inc({ object: 'event' }),
  });
}

async function applyStatus(parts: RegionsParts, term: Term): Promise<void> {
  const reading = parts.latest.get();
  if (reading === null || reading.report === null) return;
  const { facts, report, problems } = reading;
  for (const resource of parts.inventory.regions) {
    const { region } = resource.spec;
    const component = report.components.find(({ name }) => name === `engine.${region}`);
    const regionFacts = facts.regions.find((each) => each.region === region);
    if (component === undefined || regionFacts === undefined) continue;
    const now = parts.now();
    const queued = report.queued[region] ?? 0;
    const status = regionStatus({
      resource,
      component,
      facts: regionFacts,
      problem: problems?.get(region),
      queued,
      now,
    });
    if (!isWorthWriting(resource.status, status, now)) continue;
    if (!term.holds()) return;
    await write(parts, resource, status);
  }
}

async function write(
  { client, metrics }: RegionsParts,
  resource: RenderRegion,
  status: RenderRegionStatus,
): Promise<void> {
  const { name, namespace, resourceVersion } = resource.metadata;
  try {
    const body = {
      apiVersion: renderRegionApi,
      kind: 'RenderRegion',
      metadata: { name, namespace, resourceVersion },
      status,
    };
    await client.call('writing the status of a RenderRegion', timeoutMs, (api) =>
      api(CustomObjectsApi).replaceNamespacedCustomObjectStatus({ ...renderRegions, namespace, name, body }),
    );
  } catch (error) {
    // The resource was changed or deleted meanwhile. Its watch reports that, and the next pass decides again.
    if (isConflict(error) || isNotFound(error)) return;
    throw error;
  }
  metrics.writes.inc({ object: 'renderregion' });
}

/** Time in which changes to the same state of a region share one Event with a count. */
const seriesMs = 30 * 60_000;

interface Recorded {
  readonly name: string;
  readonly at: number;
  readonly count: number;
}

/**
 * Records each change of a region's state as an Event. A region that alternates between two states creates two Events with counts instead
 * of many.
 */
export class RegionEvents {
  readonly #client: KubernetesClient;
  readonly #reporter: string;
  /** The states that have an Event, by the uid of the region. */
  readonly #known = new Map<string, StatusValue>();
  readonly #recorded = new Map<string, Recorded>();
  readonly #now: () => number;

  constructor(client: KubernetesClient, reporter: string, now: () => number = () => performance.now()) {
    this.#client = client;
    this.#reporter = reporter;
    this.#now = now;
  }

  /**
   * Records the changes since the last call, by comparing the stored resources. A write whose answer was lost is therefore recorded, and an
   * Event that could not be created is retried.
   */
  async follow(
    regions: readonly RenderRegion[],
    { holds, onRecorded }: { readonly holds: () => boolean; readonly onRecorded: () => void },
  ): Promise<void> {
    for (const region of regions) {
      const { uid } = region.metadata;
      const { status = 'operational', message = '' } = region.status ?? {};
      const known = this.#known.get(uid) ?? status;
      if (known !== status) {
        if (!holds()) return;
        await this.record(region, status, message);
        onRecorded();
      }
      this.#known.set(uid, status);
    }
    const present = new Set(regions.map(({ metadata }) => metadata.uid));
    for (const uid of this.#known.keys()) if (!present.has(uid)) this.#known.delete(uid);
  }

  async record(region: RenderRegion, status: StatusValue, message: string): Promise<void> {
    const key = `${region.metadata.uid}/${status}`;
    const before = this.#recorded.get(key);
    if (before !== undefined && this.#now() - before.at < seriesMs) {
      const count = before.count + 1;
      if (await this.#count(region, before.name, count)) {
        this.#recorded.set(key, { ...before, at: this.#now(), count });
        return;
      }
    }
    const name = `${region.metadata.name}.${randomUUID().slice(0, 13)}`;
    await this.#create(region, name, status, message);
    this.#recorded.set(key, { name, at: this.#now(), count: 1 });
  }

  /** Increments the count of an Event. Returns false if the Event has expired. */
  async #count({ metadata: { namespace } }: RenderRegion, name: string, count: number): Promise<boolean> {
    try {
      const body = { series: { count, lastObservedTime: new V1MicroTime() } };
      await this.#client.call('counting an Event', timeoutMs, (api) =>
        api(EventsV1Api).patchNamespacedEvent({ name, namespace, body }),
      );
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #create({ metadata }: RenderRegion, name: string, status: StatusValue, message: string): Promise<void> {
    const { namespace, uid } = metadata;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace },
      eventTime: new V1MicroTime(),
      type: status === 'operational' ? 'Normal' : 'Warning',
      reason: reasonOf(status),
      action: 'StatusChanged',
      note: message.slice(0, 1024),
      reportingController: 'webcapture.dev/controller',
      reportingInstance: this.#reporter.slice(0, 128),
      regarding: { apiVersion: renderRegionApi, kind: 'RenderRegion', name: metadata.name, namespace, uid },
    };
    await this.#client.call('creating an Event', timeoutMs, (api) =>
      api(EventsV1Api).createNamespacedEvent({ namespace, body }),
    );
  }
}
