import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { isImageFormat } from '@webcapture/shared/api/formats.ts';
import type { Persistence } from '@webcapture/shared/captures/capture-record.ts';
import { runsAfter } from '@webcapture/shared/captures/refresh-times.ts';
import { describeValue } from '../validation/explain-errors.ts';
import { canonicalTimezone } from './visitor-rules.ts';

type PersistenceRequest = CaptureRequest['persistence'];

/** Yields the violated rules of `persistence` that the schema cannot express. */
export function* brokenPersistenceRules(
  { persistence, format }: Pick<CaptureRequest, 'persistence' | 'format'>,
  { minRefreshSeconds }: { readonly minRefreshSeconds: number },
): Generator<string> {
  const { enabled, refreshInterval: seconds, schedule, history = 0, compare } = persistence;
  if (seconds !== 0 && seconds < minRefreshSeconds) {
    yield `persistence.refreshInterval must be 0 (never) or at least ${minRefreshSeconds} seconds, not ${seconds}`;
  }
  if (history > 0 && !enabled) yield 'persistence.history needs persistence.enabled true';
  if (compare !== undefined && !enabled) yield 'persistence.compare needs persistence.enabled true';
  if (compare !== undefined && !isImageFormat(format)) {
    yield `persistence.compare needs format png, jpeg or webp, not ${format}`;
  }
  if (schedule === undefined) return;
  if (!enabled) yield 'persistence.schedule needs persistence.enabled true';
  if (seconds !== 0) {
    yield 'persistence.refreshInterval: send either persistence.refreshInterval or persistence.schedule, not both';
  }
  yield* brokenScheduleRules(schedule, minRefreshSeconds);
}

/**
 * Number of runs that are checked. A schedule repeats its times each day, and one with at least an hour between its runs has at most 24 a
 * day.
 */
const checkedRuns = 50;

/** Runs are compared from the start of a leap year, so that the response does not depend on the day of the request. */
const checkedFrom = Date.UTC(2024, 0);

function* brokenScheduleRules(
  { cron, timeZone }: NonNullable<PersistenceRequest['schedule']>,
  minSeconds: number,
): Generator<string> {
  if (canonicalTimezone(timeZone) === undefined) {
    yield `persistence.schedule.timeZone must be a name of the IANA time zone database like "Europe/Berlin", not ${describeValue(timeZone)}`;
  }
  const runs = checkedRunsOf(cron);
  if (runs === null) {
    yield `persistence.schedule.cron must be a cron expression of five fields like "0 6 * * 1-5", not ${describeValue(cron)}`;
    return;
  }
  if (runs.length === 0) yield `persistence.schedule.cron must match a date, which ${describeValue(cron)} never does`;
  const distances = runs.slice(1).map((run, index) => (run - (runs[index] ?? 0)) / 1000);
  const shortest = Math.min(...distances);
  if (shortest < minSeconds) {
    yield `persistence.schedule.cron must have at least ${minSeconds} seconds between two runs, not ${shortest}`;
  }
}

/** Returns the first runs in UTC, because daylight saving time is ignored here. Returns null for an invalid expression. */
function checkedRunsOf(cron: string): readonly number[] | null {
  try {
    return runsAfter({ cron, timeZone: 'UTC' }, checkedFrom - 1, checkedRuns);
  } catch {
    return null;
  }
}

/** Returns the long-term storage of a valid request that enables it. */
export function persistenceOf({ refreshInterval, schedule, history = 0, compare }: PersistenceRequest): Persistence {
  return {
    refreshIntervalMs: refreshInterval * 1000,
    ...(schedule === undefined
      ? {}
      : { schedule: { ...schedule, timeZone: canonicalTimezone(schedule.timeZone) ?? schedule.timeZone } }),
    ...(history === 0 ? {} : { history }),
    ...(compare === undefined ? {} : { compare }),
  };
}
