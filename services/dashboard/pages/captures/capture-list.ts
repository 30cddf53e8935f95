import type { Capture, CaptureStatus } from '@webcapture/client';

/** The part of the account's captures that has been loaded, newest first. */
export interface CaptureList {
  readonly items: readonly Capture[];
  /** Where the next, older page begins; null when all have been loaded. */
  readonly nextCursor: string | null;
}

export type CapturePage = CaptureList;

export const emptyList: CaptureList = { items: [], nextCursor: null };

/** Identifiers are UUIDv7, so that their order is that of acceptance. */
const newestFirst = (a: Capture, b: Capture) => (a.uuid < b.uuid ? 1 : a.uuid > b.uuid ? -1 : 0);

/** The list with the page that follows it. */
export function withOlder(list: CaptureList, page: CapturePage): CaptureList {
  return { items: merged(list.items, page.items), nextCursor: page.nextCursor };
}

/**
 * The list with a newer reading of its first page, which covers all that is newer than its cursor. Where captures may lie
 * between the two, which is possible after a long absence, the list begins anew: a gap in the middle would never be filled.
 */
export function withNewest(list: CaptureList, page: CapturePage): CaptureList {
  const { nextCursor } = page;
  const newest = list.items[0];
  if (nextCursor === null || newest === undefined || newest.uuid < nextCursor) return page;
  // What the reading covers and does not name has gone, or no longer matches the filter.
  const older = list.items.filter(({ uuid }) => uuid < nextCursor);
  const isFurther = list.nextCursor === null || list.nextCursor < nextCursor;
  return { items: merged(older, page.items), nextCursor: isFurther ? list.nextCursor : nextCursor };
}

/** The list with what a capture has become; one that is not in it, or no longer matches the filter, is left out. */
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

/** Whether every word of the search stands in the address, the title, the identifier, the region or the error. */
export function matches(capture: Capture, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { uuid, metadata, region, status } = capture;
  const report = 'report' in capture ? [capture.report.title, capture.report.finalUrl] : [];
  const error = 'error' in capture ? [capture.error.code, capture.error.message] : [];
  const text = [uuid, metadata.url, metadata.format, region, status, ...report, ...error].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}
