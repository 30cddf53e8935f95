import type { RenderOptions } from '../api/capture-request.ts';
import { optionTable, pageOptionNames, secretOptionNames } from '../api/option-table.ts';
import { backoffMs } from '../runtime/deadline.ts';

/** Rendering of a background capture or refresh must start within 24 hours. */
export const backgroundWaitMs = 86_400_000;

/**
 * Lifetime of the reservation of a background capture or a refresh. Within this time, the usage ledger must contain the capture or refresh.
 */
export const reservationMs = 60_000;

/** Time after a deadline within which overdue captures have usually been handled. */
const overdueMs = 60_000;

/** Returns the time at which the leader ends a capture that is still open, regardless of its job; Unix milliseconds. */
export const overdueAt = (deadline: number): number => deadline + overdueMs;

/** Time after which the leader queues a job that its front, or a previous leader, could not queue. */
export const dispatchAfterMs = 20_000;

/** Time that is added to the waits that the request allows. It is for the picture of a long page, its storage, and a second attempt. */
const marginMs = 60_000;

/** Maximum delay before a background capture whose file could not be stored is rendered again. */
export const maxStoreRetryMs = 5 * 60_000;

/**
 * Returns the delay before the next attempt of a background capture whose file could not be stored: 5 s, doubling up to 5 minutes.
 * `attempt` is the number of that attempt, from 2.
 */
export const storeRetryMs = (attempt: number): number => backoffMs(attempt - 1, 5000, maxStoreRetryMs);

/** Returns the deadline of a capture whose rendering must start before `startBy`, in Unix milliseconds. */
export function deadlineOf(options: RenderOptions, startBy: number): number {
  const given = { ...options, ...options.secrets };
  const stepsMs = [...pageOptionNames, ...secretOptionNames].map((name) => {
    const { addsMs } = optionTable[name];
    if (given[name] === undefined) return 0;
    return typeof addsMs === 'number' ? addsMs : addsMs(given[name] as never, options);
  });
  return stepsMs.reduce((sum, ms) => sum + ms, startBy + marginMs);
}

const dayMs = 86_400_000;

/** The last formatted day. It is cached, because formatting a date is slow. */
let lastDay = { number: Number.NaN, date: '', name: '' };

function dayAt(time: number): typeof lastDay {
  const number = Math.floor(time / dayMs);
  if (number !== lastDay.number) {
    const date = new Date(time).toISOString().slice(0, 10);
    lastDay = { number, date, name: date.replaceAll('-', '') };
  }
  return lastDay;
}

/** Returns the day of a time in UTC as `yyyymmdd`, as used in keys. */
export const dayOf = (time: number): string => dayAt(time).name;

/** Returns the day of a time in UTC as `yyyy-mm-dd`, as used in the API. */
export const dateOf = (time: number): string => dayAt(time).date;

/** Returns the month of a time in UTC as `yyyymm`. */
export function monthOf(time: number): string {
  return new Date(time).toISOString().slice(0, 7).replace('-', '');
}

/** Returns the starts of the month of `time` in UTC and of the next one; Unix milliseconds. */
export function periodOf(time: number): { readonly start: number; readonly end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
