import { randomUUID } from 'node:crypto';
import type { StatusValue } from '@webcapture/shared/contract/status.ts';
import { reasonOf } from '../decide/region-resource.ts';
import { isNotFound } from './api-error.ts';
import type { KubeConnection } from './connection.ts';
import { microTime } from './micro-time.ts';
import { renderRegionApi, type RenderRegion } from './objects.ts';

/** The same news of the same region within this time is one Event that counts. */
const seriesMs = 30 * 60_000;

/** Shorter than the margin of the Lease. */
const limitMs = 2000;

interface Told {
  readonly name: string;
  readonly at: number;
  readonly count: number;
}

/** Says in Events that a region's state has changed; a region that comes and goes makes two that count, not a flood. */
export class RegionEvents {
  readonly #connection: KubeConnection;
  readonly #reporter: string;
  readonly #told = new Map<string, Told>();
  readonly #now: () => number;

  constructor(connection: KubeConnection, reporter: string, now: () => number = () => performance.now()) {
    this.#connection = connection;
    this.#reporter = reporter;
    this.#now = now;
  }

  async tell(region: RenderRegion, status: StatusValue, message: string): Promise<void> {
    const key = `${region.metadata.uid}/${status}`;
    const before = this.#told.get(key);
    if (before !== undefined && this.#now() - before.at < seriesMs) {
      const count = before.count + 1;
      if (await this.#count(region, before.name, count)) {
        this.#told.set(key, { ...before, at: this.#now(), count });
        return;
      }
    }
    const name = `${region.metadata.name}.${randomUUID().slice(0, 13)}`;
    await this.#create(region, name, status, message);
    this.#told.set(key, { name, at: this.#now(), count: 1 });
  }

  /** False when the Event has expired. */
  async #count({ metadata: { namespace } }: RenderRegion, name: string, count: number): Promise<boolean> {
    try {
      await this.#connection.request({
        method: 'PATCH',
        path: `${eventsPath(namespace)}/${name}`,
        body: { series: { count, lastObservedTime: microTime() } },
        limitMs,
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #create({ metadata }: RenderRegion, name: string, status: StatusValue, message: string): Promise<void> {
    await this.#connection.request({
      method: 'POST',
      path: eventsPath(metadata.namespace),
      limitMs,
      body: {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name, namespace: metadata.namespace },
        eventTime: microTime(),
        type: status === 'operational' ? 'Normal' : 'Warning',
        reason: reasonOf(status),
        action: 'StatusChanged',
        note: message.slice(0, 1024),
        reportingController: 'webcapture.dev/controller',
        reportingInstance: this.#reporter.slice(0, 128),
        regarding: {
          apiVersion: renderRegionApi,
          kind: 'RenderRegion',
          name: metadata.name,
          namespace: metadata.namespace,
          uid: metadata.uid,
        },
      },
    });
  }
}

const eventsPath = (namespace: string) => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
