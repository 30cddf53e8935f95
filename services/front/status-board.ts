import {
  type ComponentStatus,
  type OverallStatus,
  regionComponent,
  statusIntervalMs,
  type StatusReport,
  statusStaleMs,
  type StatusValue,
  worse,
} from '@webcapture/shared/api/status.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';
import type { NatsLink } from './nats.ts';

/** Keeps the controller's report on the whole service in memory, so that a status needs no request. */
export class StatusBoard {
  readonly #installed: readonly Region[];
  readonly #link: Pick<NatsLink, 'downForMs'>;
  readonly #clock: { readonly now: () => number; readonly monotonic: () => number };
  #report: StatusReport | null = null;
  #heardAt = 0;
  #ageWhenHeard = 0;
  #replay = true;

  constructor(
    installed: readonly Region[],
    link: Pick<NatsLink, 'downForMs'>,
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

  /** What comes next is what had been written before, perhaps long ago. */
  expectReplay(): void {
    this.#replay = true;
  }

  /** Applies a report. A deletion is no news: the report before it grows old by itself. */
  apply(report: StatusReport | null): void {
    const replay = this.#replay;
    this.#replay = false;
    if (report === null || report.at === this.#report?.at) return;
    this.#report = report;
    this.#heardAt = this.#clock.monotonic();
    // Only of a report that was stored already do we need its own time; of one that comes live, no pod's clock matters.
    this.#ageWhenHeard = replay ? Math.max(0, this.#clock.now() - report.at) : 0;
  }

  /** Captures that wait, by region, as last reported. */
  queued(): Readonly<Record<string, number>> {
    return this.#report?.queued ?? {};
  }

  /** Whether the region has never worked, as last reported. */
  isPending(region: Region): boolean {
    return this.#report?.pending.some(({ name }) => name === regionComponent(region)) ?? false;
  }

  /** How old the last report is; null before the first. */
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

/** What a front knows when it is asked for the status. */
export interface StatusView {
  /** The controller's last report, or null when there has been none. */
  readonly report: StatusReport | null;
  readonly reportAgeMs: number;
  readonly installed: readonly Region[];
  /** For how long the front has been without NATS; 0 while it is connected. */
  readonly natsDownMs: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/** Shorter gaps are a reconnection, not an outage. */
const natsToleratedMs = 2000;

/**
 * The status as this front serves it: the controller's report, marked when it is too old, with what the front knows better
 * itself: its own condition (`api`) and whether it reaches the queue.
 */
export function overlayStatus(view: StatusView): OverallStatus {
  const components = [apiComponent(view), ...reported(view).map((component) => withOwnWord(component, view))];
  return {
    status: components.map(({ status }) => status).reduce(worse),
    components,
    lastCheckedAt: timestamp(isFresh(view) && !queueLost(view) ? (view.report?.at ?? view.now) : view.now),
  };
}

/** The component of the screenshot engine, as {@link overlayStatus} has it. */
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

/** The controller's components; stand-ins for them while it has said nothing yet. */
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
    status: worse(component.status, 'degraded_performance'),
    message: component.message === undefined ? silence : `${silence} Its last: ${component.message}`,
  }));
}

function withOwnWord(component: ComponentStatus, view: StatusView): ComponentStatus {
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
