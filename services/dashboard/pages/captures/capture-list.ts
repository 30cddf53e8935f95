import type { Capture, CaptureStatus } from '@webcapture/client';

/** The loaded part of the account's captures, newest first. */
export interface CaptureList {
  readonly items: readonly Capture[];
  /** Cursor of the next, older page; null when all captures are loaded. */
  readonly nextCursor: string | null;
}

export type CapturePage = CaptureList;

export const emptyList: CaptureList = { items: [], nextCursor: null };

/** Identifiers are UUIDv7, so they sort by the time of acceptance. */
const newestFirst = (a: Capture, b: Capture) => (a.uuid < b.uuid ? 1 : a.uuid > b.uuid ? -1 : 0);

/** Returns the list with the page that follows it. */
export function withOlder(list: CaptureList, page: CapturePage): CaptureList {
  return { items: merged(list.items, page.items), nextCursor: page.nextCursor };
}

/**
 * Returns the list updated with a newer copy of its first page, which covers all captures newer than its cursor. After a long absence,
 * captures may be missing between that page and the list. The list then starts again, because nothing would fill the gap.
 */
export function withNewest(list: CaptureList, page: CapturePage): CaptureList {
  const { nextCursor } = page;
  const newest = list.items[0];
  if (nextCursor === null || newest === undefined || newest.uuid < nextCursor) return page;
  // A capture that the page covers but does not contain was deleted, or no longer matches the filter.
  const older = list.items.filter(({ uuid }) => uuid < nextCursor);
  const isFurther = list.nextCursor === null || list.nextCursor < nextCursor;
  return { items: merged(older, page.items), nextCursor: isFurther ? list.nextCursor : nextCursor };
}

/**
 * Returns the list with a changed capture. If the capture is not in the list, nothing changes. If it no longer matches the filter, it is
 * removed.
 */
export function withChanged(list: CaptureList, capture: Capture, status: CaptureStatus | undefined): CaptureList {
  if (!list.items.some(({ uuid }) => uuid === capture.uuid)) return list;
  const isShown = status === undefined || capture.status === status;
  const items = list.items.flatMap((item) => (item.uuid !== capture.uuid ? [item] : isShown ? [capture] : []));
  return { ...list, items };
}

function merged(older: readonly Capture[], newer: readonly Capture[]): Capture[] {
  const byUuid = new Map(older.map((item) => [item.uuid, item]));
  for (const item of newer) byUuid.set(item.uuid, item);
  return [...byUuid.values()].sort(newestFirst);
}

/** Whether each word of the search is in the address, title, identifier, batch, region, error or HTTP status. */
export function matches(capture: Capture, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { uuid, metadata, region, status } = capture;
  const report =
    'report' in capture ? [capture.report.title, capture.report.finalUrl, `HTTP ${capture.report.httpStatus}`] : [];
  const batch = 'batch' in capture ? [capture.batch ?? ''] : [];
  const error = 'error' in capture ? [capture.error.code, capture.error.message] : [];
  const text = [uuid, metadata.url, metadata.format, region, status, ...batch, ...report, ...error]
    .join('\n')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
