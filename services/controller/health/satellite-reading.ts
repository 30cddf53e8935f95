import {
  type ComponentStatus,
  regionComponent,
  type StatusReport,
  worstStatus,
} from '@webcapture/shared/api/status.ts';
import { olderThan } from '@webcapture/shared/nats/connect.ts';
import type { ConnectionProblem } from '@webcapture/shared/nats/connection-problem.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { type FleetConfig, fleetConfigFormat, regionsOf, storageText } from '@webcapture/shared/queue/fleet-config.ts';
import type { StorageConfig } from '@webcapture/shared/runtime/config.ts';
import type { InstalledRegion, Region } from '@webcapture/shared/runtime/regions.ts';
import { version } from '@webcapture/shared/runtime/run-service.ts';
import type { ClusterReports } from './cluster-reports.ts';
import type { Facts, FleetProblem, Reading } from './facts.ts';
import { duration } from './verdict.ts';

/** A satellite's view of its fleet and its own cluster. */
export interface SatelliteView {
  /** Why there is no connection; null while connected, or during the first connection attempt. */
  readonly connection: ConnectionProblem | null;
  readonly isConnected: boolean;
  /** The configuration that the hub wrote; null if it wrote none, undefined before the first read. */
  readonly fleetConfig: FleetConfig | null | undefined;
  /** Milliseconds since the last answer of NATS; null before the first. */
  readonly unreadForMs: number | null;
  /** The status of the fleet as the hub last wrote it. */
  readonly status: { readonly report: StatusReport; readonly ageMs: number } | null;
  /** Milliseconds since the start. */
  readonly upForMs: number;
  /** Maximum age of a usable status. */
  readonly staleMs: number;
  readonly fleet: Fleet;
  readonly clusters: ClusterReports;
  readonly backgroundSlots?: ReadonlyMap<Region, number>;
}

/** Age of the last answer from which NATS counts as unavailable: it is read every 2 s, so five reads have failed. */
const unreadMs = 10_000;

interface Installation {
  readonly regions: readonly InstalledRegion[];
  readonly storage: StorageConfig;
}

/** Time after the start before which missing data of the hub is not a problem, because the satellite is still starting. */
const startMs = 15_000;

/**
 * Combines the hub's status of the satellite's regions, the state of the satellite's own cluster, and problems between satellite and hub.
 */
export function readSatellite(
  { regions, storage }: Installation,
  view: SatelliteView,
  now: number,
): Reading & { readonly problems: ReadonlyMap<Region, FleetProblem> } {
  const report = view.status?.report ?? null;
  const problems = new Map<Region, FleetProblem>();
  for (const { region } of regions) {
    const problem = problemOf(region, storage, view);
    if (problem !== null) problems.set(region, problem);
  }
  const facts: Facts = {
    at: now,
    queue: { kind: 'unreachable', why: 'no answer' },
    storage: null,
    clusters: [],
    regions: regions.map(({ region, minRenderers }) => {
      const depths = problems.has(region) ? undefined : report?.waiting[region];
      return {
        region,
        wanted: minRenderers,
        backgroundSlots: view.backgroundSlots?.get(region),
        isPending: false,
        fleetKnown: view.isConnected && view.connection === null,
        pods: view.fleet.fresh(region),
        silent: view.fleet.silent(region),
        waiting: depths === undefined ? null : { ...depths, oldestInteractiveMs: null, oldestBackgroundMs: null },
        canary: null,
        clusters: view.clusters.of(region),
        unreportedForMs: null,
      };
    }),
  };
  const components = regions.flatMap(({ region }) => componentOf(region, report, problems.get(region), now) ?? []);
  return {
    facts,
    problems,
    report:
      components.length < regions.length
        ? null
        : {
            components,
            pending: [],
            clusters: [],
            queued: report?.queued ?? {},
            overall: worstStatus(components.map(({ status }) => status)),
            at: now,
          },
  };
}

/** Describes why the satellite has not joined its fleet; null once the hub shows the status of each of its regions. */
export function notJoined(reading: Reading | null): string | null {
  const [problem] = reading?.problems?.values() ?? [];
  if (problem !== undefined) return problem.message;
  return (reading?.report ?? null) === null
    ? 'waiting for the hub to show the status of all regions of this satellite'
    : null;
}

function problemOf(region: Region, storage: StorageConfig, view: SatelliteView): FleetProblem | null {
  const { connection, fleetConfig, status, upForMs, staleMs } = view;
  if (connection !== null) return connection;
  if (!view.isConnected || fleetConfig === undefined || fleetConfig === null) {
    if (upForMs < startMs) return null;
    const message = view.isConnected
      ? 'NATS answers, but no hub has written the configuration of the fleet'
      : 'the connection to NATS is still being made';
    return { reason: 'FleetUnreachable', message };
  }
  const { hub, minSatelliteVersion, format, values } = fleetConfig;
  if (format > fleetConfigFormat || olderThan(version, minSatelliteVersion)) {
    const message = `this satellite has version ${version}; its hub has ${hub.version} and works with ${minSatelliteVersion} or newer. Upgrade the satellite`;
    return { reason: 'VersionUnsupported', message };
  }
  const installed = regionsOf(fleetConfig);
  if (!installed.includes(region)) {
    const message = `the hub ${hub.name} does not have the region ${region}; it has ${installed.join(', ')}. Add it to otherRegions of the hub, or correct regions of this satellite`;
    return { reason: 'RegionUnknown', message };
  }
  const own = storageText(storage);
  if (own !== values.storage) {
    const message = `this satellite keeps files in ${own}, and the hub ${hub.name} in ${values.storage}`;
    return { reason: 'ConfigurationDiffers', message };
  }
  if (status === null ? upForMs < startMs : status.ageMs <= staleMs) return null;
  // If the status is old because NATS does not answer, its age does not show a problem of the hub.
  if (view.unreadForMs !== null && view.unreadForMs > unreadMs) {
    const message = `this satellite is connected to NATS, but NATS has not answered it for ${duration(view.unreadForMs)}`;
    return { reason: 'FleetUnreachable', message };
  }
  const silence = status === null ? 'has written no status' : `has written no status for ${duration(status.ageMs)}`;
  const message = `this satellite is connected to NATS, but the hub ${hub.name} ${silence}; check the controllers of the hub`;
  return { reason: 'FleetUnreachable', message };
}

/** Returns the component of a region; null if nothing is known yet. */
function componentOf(
  region: Region,
  report: StatusReport | null,
  problem: FleetProblem | undefined,
  now: number,
): ComponentStatus | null {
  const name = regionComponent(region);
  const told = [...(report?.components ?? []), ...(report?.pending ?? [])].find((component) => component.name === name);
  if (problem === undefined) return told ?? null;
  if (told !== undefined && problem.reason === 'ConfigurationDiffers') {
    return { ...told, message: `${problem.message}; ${told.message ?? ''}` };
  }
  return { name, status: 'major_outage', message: problem.message, lastCheckedAt: new Date(now).toISOString() };
}
