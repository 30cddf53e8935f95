import { Cron } from 'croner';
import type { CaptureRecord, RefreshSchedule } from './capture-record.ts';

/**
 * Returns the next runs of a schedule after `after`, in Unix milliseconds; fewer than `count` if it never runs again.
 *
 * @throws Error if the expression or the time zone is invalid
 */
export function runsAfter({ cron, timeZone }: RefreshSchedule, after: number, count: number): readonly number[] {
  const runs = new Cron(cron, { timezone: timeZone, mode: '5-part' }).nextRuns(count, new Date(after));
  return runs.map((run) => run.getTime());
}

/**
 * Returns the time of the next automatic refresh after `now`; undefined if there is none. With an interval, the times are `since` plus
 * multiples of the interval. All times are Unix milliseconds.
 */
export function nextRefreshAfter(
  { persistence }: Pick<CaptureRecord, 'persistence'>,
  { since, now }: { readonly since: number; readonly now: number },
): number | undefined {
  const { refreshIntervalMs: interval = 0, schedule } = persistence ?? {};
  if (schedule !== undefined) return runsAfter(schedule, now, 1)[0];
  return interval === 0 ? undefined : since + interval * (Math.floor((now - since) / interval) + 1);
}
