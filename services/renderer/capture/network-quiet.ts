import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Page, Request } from 'playwright-core';
import type { EgressLane } from '../egress/lane.ts';
import { isFetched } from './loading-requests.ts';

/** For so long nothing may happen; the same as Playwright's `networkidle`. */
const quietMs = 500;

const lookMs = 50;
const fetchLookMs = 20;

export interface NetworkWatch {
  /** Resolves when no request has been waiting for its response, and no byte has come, for half a second. */
  untilQuiet(): Promise<void>;
  /** Whether the page's scripts wait for something that they asked the server for. */
  readonly isFetching: boolean;
  /**
   * Resolves with true when they have what they asked for; with false when time is up, or when nothing more has come of an
   * answer for half a second: then it is one that the page does not read.
   */
  untilFetched(ms: number): Promise<boolean>;
  stop(): void;
}

/**
 * The browser calls a request under way until its body has been read, and many pages send `fetch` and never read what
 * comes: their network would be busy for ever. So the bytes are watched as they come in through the lane.
 * To be called before the navigation.
 */
export function watchNetwork(page: Page, lane: Pick<EgressLane, 'stats'>): NetworkWatch {
  const waiting = new Set<Request>();
  const fetching = new Set<Request>();
  let lastEventAt = performance.now();
  let lastBytes = lane.stats().bytesReceived;

  const asked = (request: Request) => {
    waiting.add(request);
    if (isFetched(request, page)) fetching.add(request);
    lastEventAt = performance.now();
  };
  const answered = (request: Request) => {
    waiting.delete(request);
    lastEventAt = performance.now();
  };
  const ended = (request: Request) => {
    fetching.delete(request);
    answered(request);
  };
  const onResponse = (response: { request(): Request }) => answered(response.request());
  page.on('request', asked).on('response', onResponse).on('requestfailed', ended).on('requestfinished', ended);

  /** Notes what has happened since the last look (waiting for an answer counts), and tells for how long nothing has. */
  const observe = (isAwaited: boolean) => {
    const { bytesReceived } = lane.stats();
    if (bytesReceived !== lastBytes || isAwaited) {
      lastBytes = bytesReceived;
      lastEventAt = performance.now();
    }
    return performance.now() - lastEventAt;
  };
  const stopped = new AbortController();

  return {
    async untilQuiet() {
      while (observe(waiting.size > 0) < quietMs && (await delay(lookMs, stopped.signal)));
    },
    get isFetching() {
      return fetching.size > 0;
    },
    async untilFetched(ms) {
      const end = performance.now() + ms;
      while (fetching.size > 0) {
        const isAwaited = [...fetching].some((request) => waiting.has(request));
        if (observe(isAwaited) >= quietMs || performance.now() >= end) return false;
        if (!(await delay(fetchLookMs, stopped.signal))) return false;
      }
      return true;
    },
    stop() {
      stopped.abort();
      page.off('request', asked).off('response', onResponse);
      page.off('requestfailed', ended).off('requestfinished', ended);
    },
  };
}
