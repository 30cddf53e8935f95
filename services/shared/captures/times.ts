import type { RenderOptions } from '../api/capture-request.ts';
import { backoffMs } from '../runtime/deadline.ts';

/** Rendering of a background capture or refresh must start within 24 hours. */
export const backgroundWaitMs = 86_400_000;

/** How long the reservation of a background capture, or of a refresh, lasts: until the usage ledger has it. */
export const reservationMs = 60_000;

/** By then, the regular handling of overdue captures has run. */
const overdueMs = 60_000;

/** When the leader ends a capture that is still open, whatever happened to its job; Unix milliseconds. */
export const overdueAt = (deadline: number): number => deadline + overdueMs;

/** The leader queues a job that its front, or a leader before it, could not queue, after this. */
export const dispatchAfterMs = 20_000;

/** Beyond the waits that the request allows: shooting a long page, storing it, and a second try after a death. */
const marginMs = 60_000;

/** For each element that is to be clicked to be there. */
export const clickTimeoutMs = 5000;

/** For `script`. */
export const scriptTimeoutMs = 5000;

/** For a page to be read, where parts of it are to be extracted. */
export const extractTimeoutMs = 8000;

/** Time for metadata, attachments and encryption of a PDF, including the wait for other documents of the same renderer. */
export const documentTimeoutMs = 30_000;

/** The longest wait before a background capture that the store did not take is rendered again. */
export const maxStoreRetryMs = 5 * 60_000;

/**
 * How long a background capture that the store did not take waits before its next attempt: 5 s, doubling up to 5 minutes. `attempt`: the
 * number of that attempt, from 2.
 */
export const storeRetryMs = (attempt: number): number => backoffMs(attempt - 1, 5000, maxStoreRetryMs);

/** When a capture that may be begun until `startBy` must have ended; Unix milliseconds. */
export function deadlineOf(options: RenderOptions, startBy: number): number {
  const { timeout, imageTimeout, delay, waitFor, click = [], secrets, extract, pdf } = options;
  // What the clicks, or the script, lead to has as long as the page itself.
  const clicksMs = click.length === 0 ? 0 : timeout + click.length * clickTimeoutMs;
  const scriptMs = secrets?.script ? timeout + scriptTimeoutMs : 0;
  const extractMs = extract === undefined ? 0 : extractTimeoutMs;
  const isFinished = pdf.metadata !== undefined || pdf.attachments !== undefined || secrets?.pdfEncryption === true;
  const documentMs = isFinished ? documentTimeoutMs : 0;
  const stepsMs = documentMs + scriptMs + clicksMs + (waitFor?.timeout ?? 0) + extractMs;
  return startBy + timeout + stepsMs + imageTimeout + delay + marginMs;
}

const dayMs = 86_400_000;

/** Formatting a date takes longer than most of its uses, so the last one is cached. */
let lastDay = { number: Number.NaN, date: '', name: '' };

function dayAt(time: number): typeof lastDay {
  const number = Math.floor(time / dayMs);
  if (number !== lastDay.number) {
    const date = new Date(time).toISOString().slice(0, 10);
    lastDay = { number, date, name: date.replaceAll('-', '') };
  }
  return lastDay;
}

/** The day of a time in UTC as `yyyymmdd`, as used in keys. */
export const dayOf = (time: number): string => dayAt(time).name;

/** The day of a time, `yyyy-mm-dd` in UTC, as the API has it. */
export const dateOf = (time: number): string => dayAt(time).date;

/** `yyyymm` in UTC. */
export function monthOf(time: number): string {
  return new Date(time).toISOString().slice(0, 7).replace('-', '');
}

/** The first instants of the month in UTC that `time` lies in, and of the next one; Unix milliseconds. */
export function periodOf(time: number): { readonly start: number; readonly end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
