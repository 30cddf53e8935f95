import {
  type ComponentStatus,
  type OverallStatus,
  regionComponent,
  statusIntervalMs,
  type StatusReport,
  statusStaleMs,
  type StatusValue,
  worstStatus,
} from '@webcapture/shared/api/status.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { ConnectionMonitor } from './nats.ts';

/** Caches the controller's status report, so that GET /status needs no request. */
export class StatusCache {
  readonly #installed: readonly Region[];
  readonly #link: ConnectionMonitor;
  readonly #clock: { readonly now: () => number; readonly monotonic: () => number };
  #report: StatusReport | null = null;
  #heardAt = 0;
  #ageWhenHeard = 0;
  #replay = true;

  constructor(
    installed: readonly Region[],
    link: ConnectionMonitor,
    clock: { readonly now: () => number; readonly monotonic: () => number },
  ) {
    this.#installed = installed;
    this.#link = link;
    this.#clock = clock;
  }

  /** Follows the controller's reports until the signal aborts. */
  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<StatusReport>(
      session,
      { bucket: 'live', filter: 'status', maxSilenceMs: 2.5 * statusIntervalMs, ...deps },
      { reset: () => this.expectReplay(), change: ({ value }) => this.apply(value) },
    );
  }

  /** The next report is a stored one, and may be old. */
  expectReplay(): void {
    this.#replay = true;
  }

  /** Applies a report. A deletion is ignored; the previous report becomes stale in time. */
  apply(report: StatusReport | null): void {
    const replay = this.#replay;
    this.#replay = false;
    if (report === null || report.at === this.#report?.at) return;
    this.#report = report;
    this.#heardAt = this.#clock.monotonic();
    // The age of a live report is 0. The age of a stored report depends on the clock of the pod that wrote it.
    this.#ageWhenHeard = replay ? Math.max(0, this.#clock.now() - report.at) : 0;
  }

  /** Number of queued captures by region, as last reported. */
  queued(): Readonly<Record<string, number>> {
    return this.#report?.queued ?? {};
  }

  /** Whether the region has never worked, as last reported. */
  isPending(region: Region): boolean {
    return this.#report?.pending.some(({ name }) => name === regionComponent(region)) ?? false;
  }

  /** Age of the last report; null before the first. */
  ageMs(): number | null {
    return this.#report === null ? null : this.#reportAgeMs();
  }

  view(): StatusView {
    return {
      report: this.#report,
      reportAgeMs: this.#reportAgeMs(),
      installed: this.#installed,
      natsDownMs: this.#link.downForMs(),
      now: this.#clock.now(),
    };
  }

  #reportAgeMs(): number {
    return this.#clock.monotonic() - this.#heardAt + this.#ageWhenHeard;
  }
}

/** Data of which a front derives the status. */
export interface StatusView {
  /** The controller's last report; null before the first. */
  readonly report: StatusReport | null;
  readonly reportAgeMs: number;
  readonly installed: readonly Region[];
  /** Milliseconds since the connection to NATS was lost; 0 while it is up. */
  readonly natsDownMs: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Shorter disconnections are not reported as an outage. */
const natsToleratedMs = 2000;

/**
 * Returns the status that this front serves. It is the controller's report, marked if it is stale. What the front itself observes overrides
 * it: its own state (`api`), and whether it can reach the queue.
 */
export function overlayStatus(view: StatusView): OverallStatus {
  const components = [apiComponent(view), ...reported(view).map((component) => overrideQueueStatus(component, view))];
  return {
    status: worstStatus(components.map(({ status }) => status)),
    components,
    lastCheckedAt: timestamp(isFresh(view) && !queueLost(view) ? (view.report?.at ?? view.now) : view.now),
  };
}

/** Returns the component of the screenshot engine from {@link overlayStatus}. */
export function engineStatus(view: StatusView): ComponentStatus {
  return overlayStatus(view).components?.find(({ name }) => name === 'engine') ?? unknownComponent('engine', view);
}

const queueLost = ({ natsDownMs }: StatusView) => natsDownMs > natsToleratedMs;

const isFresh = ({ report, reportAgeMs }: StatusView) => report !== null && reportAgeMs <= statusStaleMs;

function apiComponent(view: StatusView): ComponentStatus {
  const lost = queueLost(view);
  return {
    name: 'api',
    status: lost ? 'partial_outage' : 'operational',
    ...(lost ? { message: 'Captures cannot be accepted: the queue is unavailable.' } : {}),
    lastCheckedAt: timestamp(view.now),
  };
}

/** Returns the controller's components, or placeholders before its first report. */
function reported(view: StatusView): readonly ComponentStatus[] {
  const { report, installed } = view;
  if (report === null) {
    const names = ['queue', 'storage', 'engine', ...installed.map((region) => `engine.${region}`)];
    return names.map((name) => unknownComponent(name, view));
  }
  if (isFresh(view)) return report.components;
  const silence = `The controller has not reported for ${Math.round(view.reportAgeMs / 1000)} s.`;
  return report.components.map((component) => ({
    ...component,
    status: worstStatus([component.status, 'degraded_performance']),
    message: component.message === undefined ? silence : `${silence} Its last report: ${component.message}`,
  }));
}

function overrideQueueStatus(component: ComponentStatus, view: StatusView): ComponentStatus {
  if (component.name !== 'queue' || !queueLost(view)) return component;
  const seconds = Math.round(view.natsDownMs / 1000);
  const status: StatusValue = 'major_outage';
  return { name: 'queue', status, message: `Unavailable for ${seconds} s.`, lastCheckedAt: timestamp(view.now) };
}

function unknownComponent(name: string, { now }: StatusView): ComponentStatus {
  const message = 'The controller has not reported yet.';
  return { name, status: 'degraded_performance', message, lastCheckedAt: timestamp(now) };
}

const timestamp = (time: number) => new Date(time).toISOString();
