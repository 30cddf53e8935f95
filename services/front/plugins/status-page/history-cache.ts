import { type HistoryDay, historyDays, type StatusHistory } from '@webcapture/shared/api/status-history.ts';
import {
  type ComponentHistory,
  historyFormat,
  historyIntervalMs,
  historyKeys,
  observedTo,
} from '@webcapture/shared/statistics/component-history.ts';
import { dateOf } from '@webcapture/shared/captures/times.ts';
import { statusStaleMs, statusValues } from '@webcapture/shared/api/status.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { type Change, watchKeys } from '@webcapture/shared/nats/watch.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { StatusView } from '../../status-cache.ts';

/** Caches the histories of all components that the leader writes; they stay available while NATS is unavailable. */
export class HistoryCache {
  readonly #histories = new Map<string, ComponentHistory>();
  #version = 0;

  /** Follows the leader's writes until the signal aborts. */
  async follow(session: NatsSession, deps: { log: Logger; signal: AbortSignal }): Promise<void> {
    await watchKeys<ComponentHistory>(
      session,
      { bucket: 'db', filter: historyKeys, maxSilenceMs: 2.5 * historyIntervalMs, ...deps },
      { reset: () => undefined, change: (change) => this.apply(change) },
    );
  }

  apply({ key, value }: Pick<Change<ComponentHistory>, 'key' | 'value'>): void {
    if (value === null) this.#histories.delete(key);
    else if (value.format === historyFormat) this.#histories.set(key, value);
    this.#version++;
  }

  /** The version of the content, which changes with each write. */
  get version(): number {
    return this.#version;
  }

  get histories(): readonly ComponentHistory[] {
    return [...this.#histories.values()];
  }
}

const dayMs = 86_400_000;

/**
 * Returns the history for clients. Changes that the controller has not stored yet come from its published status. If that status is not
 * recent, the time since its publication has no data.
 *
 * @param now Unix milliseconds, by the server's clock
 */
export function historyView(
  histories: readonly ComponentHistory[],
  { report, reportAgeMs }: Pick<StatusView, 'report' | 'reportAgeMs'>,
  now: number,
): StatusHistory {
  const first = dateOf(now - (historyDays - 1) * dayMs);
  const today = dateOf(now);
  const components = histories
    .map((stored) => {
      const current = report?.components.find(({ name }) => name === stored.name);
      if (report === null || current === undefined) return { history: stored, until: now };
      const history = observedTo(stored, now - reportAgeMs - (report.at - Date.parse(current.lastCheckedAt)));
      // A gap at the end is normal: storage is probed only every half minute.
      const isFollowed = reportAgeMs <= statusStaleMs && now - history.observedUntil <= 2 * statusStaleMs;
      return { history, until: isFollowed ? history.observedUntil : now };
    })
    .map(({ history, until }) => {
      const days = history.days.filter(({ date }) => date >= first && date <= today);
      const sums = statusValues.map((_, index) => days.reduce((sum, { ms }) => sum + (ms[index] ?? 0), 0));
      const [operational = 0, degraded = 0, partial = 0, major = 0] = sums;
      const observed = operational + degraded + partial + major;
      return {
        name: history.name,
        observedUntil: new Date(history.observedUntil).toISOString(),
        uptimePercent: observed === 0 ? null : Math.floor(((operational + degraded) / observed) * 10_000) / 100,
        days:
          days[0] === undefined ? [] : daysFrom(days[0].date, new Map(days.map(({ date, ms }) => [date, ms])), until),
      };
    })
    .filter(({ days }) => days.length > 0)
    .toSorted((a, b) => order(a.name) - order(b.name) || a.name.localeCompare(b.name));
  return { generatedAt: new Date(now).toISOString(), components, incidents: incidentsOf(histories, first) };
}

const known = ['queue', 'storage', 'engine'];
const order = (name: string) => (known.indexOf(name) + known.length + 1) % (known.length + 1);

/** Returns all days from `first` to the day of `until`. The last day is cut off at `until`. */
function daysFrom(first: string, observed: ReadonlyMap<string, readonly number[]>, until: number): HistoryDay[] {
  const start = Date.parse(first);
  const count = Math.max(1, Math.floor((until - start) / dayMs) + 1);
  return Array.from({ length: count }, (_, index) => {
    const from = start + index * dayMs;
    const ms = observed.get(dateOf(from)) ?? [];
    const unseen = Math.min(dayMs, until - from) - ms.reduce((sum, each) => sum + each, 0);
    const lengths = [
      ...statusValues.map((state, each) => [state, ms[each] ?? 0] as const),
      ['noData', unseen] as const,
    ];
    const seconds = lengths.map(([state, length]) => [state, Math.round(length / 1000)] as const);
    return { date: dateOf(from), ...Object.fromEntries(seconds.filter(([, length]) => length > 0)) };
  });
}

function incidentsOf(histories: readonly ComponentHistory[], first: string): StatusHistory['incidents'] {
  const timestamp = (time: number) => new Date(time).toISOString();
  return histories
    .flatMap(({ name, incidents }) =>
      incidents
        .filter(({ endedAt }) => endedAt === null || dateOf(endedAt) >= first)
        .map((incident) => ({
          id: `${name}.${timestamp(incident.startedAt).replaceAll(/[-:.]/g, '')}`,
          component: name,
          status: incident.status,
          startedAt: timestamp(incident.startedAt),
          endedAt: incident.endedAt === null ? null : timestamp(incident.endedAt),
          message: incident.message,
          updates: incident.updates.map(({ at, ...update }) => ({ at: timestamp(at), ...update })),
          interruptions: incident.interruptions,
        })),
    )
    .toSorted((a, b) => b.startedAt.localeCompare(a.startedAt) || a.component.localeCompare(b.component));
}
