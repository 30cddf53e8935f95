import { Gauge, type Registry } from 'prom-client';
import { type Static, Type } from 'typebox';
import type { Region } from '../runtime/regions.ts';
import { oneOf } from './one-of.ts';

/** Status values of the interface, from best to worst. */
export const statusValues = ['operational', 'degraded_performance', 'partial_outage', 'major_outage'] as const;
export type StatusValue = (typeof statusValues)[number];

/** Orders statuses: a greater value is worse. */
export const severity = (status: StatusValue): number => statusValues.indexOf(status);

/** Returns the schema of a status. */
export const status = () => oneOf(statusValues);

export const componentStatusSchema = Type.Object({
  name: Type.String({ description: 'Name of the component: api, queue, storage, engine, or engine.<region>.' }),
  status: status(),
  responseTimeMs: Type.Optional(Type.Integer({ minimum: 0 })),
  message: Type.Optional(Type.String()),
  lastCheckedAt: Type.String({ format: 'date-time' }),
});

export const overallStatusSchema = Type.Object({
  status: status(),
  components: Type.Optional(Type.Array(componentStatusSchema)),
  lastCheckedAt: Type.String({ format: 'date-time' }),
});

export type ComponentStatus = Static<typeof componentStatusSchema>;
export type OverallStatus = Static<typeof overallStatusSchema>;

/** The component of a region. */
export const regionComponent = (region: Region) => `engine.${region}`;

/** Returns the worst status; operational for an empty list. */
export function worstStatus(statuses: readonly StatusValue[]): StatusValue {
  return statuses.toSorted((a, b) => severity(b) - severity(a))[0] ?? 'operational';
}

/** Key of the status in the bucket `live`. */
export const statusKey = 'status';

/** The status from which every front derives its response. The leader of the fleet writes it under {@link statusKey} in `KV_live`. */
export interface StatusReport {
  /** Queue, storage, engine and engine.<region>; the front adds its own component `api`. */
  readonly components: readonly ComponentStatus[];
  /** Regions that have never worked, in the form of components. They do not count for the status. */
  readonly pending: readonly ComponentStatus[];
  /** Number of waiting captures by region. If no region has a free slot, `auto` chooses the region by these numbers. */
  readonly queued: Readonly<Record<string, number>>;
  /**
   * Number of waiting captures by region and priority, for autoscalers in the clusters of satellites. `backgroundHeld` is the number of
   * running background captures.
   */
  readonly waiting: Readonly<Record<string, Readonly<Record<'interactive' | 'background' | 'backgroundHeld', number>>>>;
  /** Captures in queues of regions that are not installed, by region. */
  readonly retired: Readonly<Record<string, number>>;
  /** The clusters that have reported to the hub. */
  readonly clusters: readonly ReportedCluster[];
  readonly overall: StatusValue;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A cluster of the fleet in the form of its last report. */
export interface ReportedCluster {
  readonly name: string;
  readonly namespace: string;
  /** Version of the cluster's controller. */
  readonly version: string;
  readonly regions: readonly Region[];
  /** Null while the cluster reports. */
  readonly silentForMs: number | null;
  /** Descriptions for operators of the problems that prevent the cluster from working in this fleet. */
  readonly problems: readonly string[];
}

/** Interval at which the status is written, and the age from which a front reports that it is outdated. */
export const statusIntervalMs = 5000;
export const statusStaleMs = 30_000;

/**
 * Creates the metric of a service's view of the components, with a number for each. `read` returns the current components. Components that
 * it does not return have no value.
 */
export function createComponentStatus(registry: Registry, read: () => readonly ComponentStatus[]): void {
  void new Gauge({
    name: 'webcapture_component_status',
    help: 'State of a component: 0 operational, 1 degraded performance, 2 partial outage, 3 major outage. Fronts export the states that GET /status returns. The leading controller exports the states that it computes, without the component api and regardless of the age of the status.',
    labelNames: ['component'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, status } of read()) this.set({ component: name }, severity(status));
    },
  });
}
