import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Page, Request } from 'playwright-core';
import type { EgressLane } from '../egress/lane.ts';

/** For so long nothing may happen; the same as Playwright's `networkidle`. */
const quietMs = 500;

const lookMs = 50;

export interface NetworkWatch {
  /** Resolves when no request has been waiting for its response, and no byte has come, for half a second. */
  untilQuiet(): Promise<void>;
  stop(): void;
}

/**
 * The browser calls a request under way until its body has been read, and many pages send `fetch` and never read what
 * comes: their network would be busy for ever. So the bytes are watched as they come in through the lane.
 * To be called before the navigation.
 */
export function watchNetwork(page: Page, lane: Pick<EgressLane, 'stats'>): NetworkWatch {
  const waiting = new Set<Request>();
  let lastEventAt = performance.now();
  let lastBytes = -1;

  const asked = (request: Request) => {
    waiting.add(request);
    lastEventAt = performance.now();
  };
  const answered = (request: Request) => {
    waiting.delete(request);
    lastEventAt = performance.now();
  };
  const onResponse = (response: { request(): Request }) => answered(response.request());
  page.on('request', asked).on('response', onResponse).on('requestfailed', answered).on('requestfinished', answered);

  const isQuiet = () => {
    const { bytesReceived } = lane.stats();
    if (bytesReceived !== lastBytes || waiting.size > 0) {
      lastBytes = bytesReceived;
      lastEventAt = performance.now();
    }
    return performance.now() - lastEventAt >= quietMs;
  };
  const stopped = new AbortController();

  return {
    async untilQuiet() {
      while (!isQuiet() && (await delay(lookMs, stopped.signal)));
    },
    stop() {
      stopped.abort();
      page.off('request', asked).off('response', onResponse);
      page.off('requestfailed', answered).off('requestfinished', answered);
    },
  };
}
