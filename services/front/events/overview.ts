import { maxListedPods, type Overview } from '@webcapture/shared/api/admin.ts';
import { regionComponent } from '@webcapture/shared/api/status.ts';
import type { Fleet } from '@webcapture/shared/queue/fleet.ts';
import { regions as allRegions, type Region } from '@webcapture/shared/runtime/regions.ts';
import { overlayStatus, type StatusView } from '../status-cache.ts';

export interface OverviewSource {
  readonly fleet: Fleet;
  readonly status: { readonly view: () => StatusView };
}

/** Interval of overview events. */
const intervalMs = 2000;

/** The state of the fleet for operators. It comes from the memory of the front, without requests. */
export class OverviewCache {
  readonly #source: OverviewSource;
  readonly #followers = new Set<(overview: string) => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(source: OverviewSource) {
    this.#source = source;
  }

  view(): Overview {
    return overviewOf(this.#source);
  }

  /** Sends the overview as JSON now and every two seconds until the signal aborts. All followers share one serialization. */
  follow(send: (overview: string) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    send(JSON.stringify(this.view()));
    this.#followers.add(send);
    this.#timer ??= setInterval(() => {
      const overview = JSON.stringify(this.view());
      for (const follower of this.#followers) follower(overview);
    }, intervalMs);
    signal.addEventListener(
      'abort',
      () => {
        this.#followers.delete(send);
        if (this.#followers.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      },
      { once: true },
    );
  }
}

function overviewOf({ fleet, status: statusCache }: OverviewSource): Overview {
  const view = statusCache.view();
  const { status, components = [] } = overlayStatus(view);
  const regionOf = (region: Region): Overview['regions'][number] => {
    const { renderers, slots, busy, renderMs } = fleet.load(region);
    const { interactive = view.report?.queued[region] ?? 0, background = 0 } = view.report?.waiting[region] ?? {};
    const pods = fleet.heard(region).toSorted((a, b) => (a.heartbeat.pod < b.heartbeat.pod ? -1 : 1));
    const name = regionComponent(region);
    const pending = view.report?.pending.find((component) => component.name === name);
    return {
      region,
      installed: pending === undefined,
      renderers,
      slots,
      busy,
      queued: { interactive, background },
      status: (pending ?? components.find((component) => component.name === name))?.status ?? 'degraded_performance',
      meanRenderMs: renderMs === null ? null : Math.round(renderMs),
      pods: pods.slice(0, maxListedPods).map(({ heartbeat, ageMs }) => {
        const { pod, slots: podSlots, busy: podBusy, version } = heartbeat;
        return { pod, slots: podSlots, busy: podBusy, version, ageMs: Math.round(ageMs) };
      }),
    };
  };
  const clusters = (view.report?.clusters ?? []).map(({ silentForMs, ...cluster }) => ({
    ...cluster,
    regions: [...cluster.regions],
    problems: [...cluster.problems],
    silentForMs: silentForMs === null ? null : Math.round(silentForMs),
  }));
  return {
    at: new Date(view.now).toISOString(),
    status,
    regions: view.installed.map(regionOf),
    retired: retiredOf(view),
    clusters,
  };
}

function retiredOf({ report }: StatusView): Overview['retired'] {
  const regions = allRegions
    .map((region) => ({ region, captures: report?.retired[region] ?? 0 }))
    .filter(({ captures }) => captures > 0);
  return { captures: regions.reduce((sum, { captures }) => sum + captures, 0), regions };
}
