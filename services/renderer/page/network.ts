import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Frame, Page, Request } from 'playwright';
import type { ProxySession } from '../egress/proxy.ts';

/** For so long nothing may happen; the same as Playwright's `networkidle`. */
const quietMs = 500;

const quietPollIntervalMs = 50;
/** No look is so much later than the one before, unless this process stood still. */
const maxLookIntervalMs = 2 * quietPollIntervalMs;
const fetchPollIntervalMs = 20;
const askPollIntervalMs = 5;

export interface NetworkWatch {
  /**
   * Resolves when no request has been waiting for its response, and no byte has come, for half a second. Time in which this
   * process stood still does not count: what came meanwhile has not been seen yet.
   */
  untilQuiet(): Promise<void>;
  /** Whether this process has stood still during `untilQuiet`, so that Playwright's own timer may have taken that for rest. */
  readonly hasStalled: boolean;
  /** Whether anything that the page asked for has not come to its end. */
  readonly isLoading: boolean;
  /** Whether the page's scripts wait for something that they asked the server for. */
  readonly isFetching: boolean;
  /**
   * Resolves with true when they have what they asked for; with false when time is up, or when nothing more has come of an
   * answer for half a second: then it is one that the page does not read.
   */
  untilFetched(timeoutMs: number): Promise<boolean>;
  /** Resolves when they ask for something, or after `timeoutMs`. */
  untilFetching(timeoutMs: number): Promise<void>;
  stop(): void;
}

/**
 * The browser calls a request under way until its body has been read, and many pages send `fetch` and never read what
 * comes: their network would be busy for ever. So the bytes are watched as they come in through the proxy session.
 * To be called before the navigation.
 */
export function watchNetwork(page: Page, proxySession: Pick<ProxySession, 'stats'>): NetworkWatch {
  const waiting = new Set<Request>();
  const loading = new Set<Request>();
  const fetching = new Set<Request>();
  let lastEventAt = performance.now();
  let lastBytes = proxySession.stats().bytesReceived;

  const asked = (request: Request) => {
    waiting.add(request);
    loading.add(request);
    if (isFetched(request, page)) fetching.add(request);
    lastEventAt = performance.now();
  };
  const answered = (request: Request) => {
    waiting.delete(request);
    lastEventAt = performance.now();
  };
  const ended = (request: Request) => {
    fetching.delete(request);
    loading.delete(request);
    answered(request);
  };
  const onResponse = (response: { request(): Request }) => answered(response.request());
  page.on('request', asked).on('response', onResponse).on('requestfailed', ended).on('requestfinished', ended);

  /** Notes what has happened since the last call (waiting for an answer counts), and tells for how long nothing has. */
  const observe = (isAwaited: boolean) => {
    const { bytesReceived } = proxySession.stats();
    if (bytesReceived !== lastBytes || isAwaited) {
      lastBytes = bytesReceived;
      lastEventAt = performance.now();
    }
    return performance.now() - lastEventAt;
  };
  const stopped = new AbortController();
  let hasStalled = false;

  return {
    async untilQuiet() {
      let lookedAt = performance.now();
      while (observe(waiting.size > 0) < quietMs && (await delay(quietPollIntervalMs, stopped.signal))) {
        const now = performance.now();
        if (now - lookedAt > maxLookIntervalMs) {
          hasStalled = true;
          lastEventAt = now;
        }
        lookedAt = now;
      }
    },
    get hasStalled() {
      return hasStalled;
    },
    get isLoading() {
      return loading.size > 0;
    },
    get isFetching() {
      return fetching.size > 0;
    },
    async untilFetched(timeoutMs) {
      const end = performance.now() + timeoutMs;
      while (fetching.size > 0) {
        const isAwaited = [...fetching].some((request) => waiting.has(request));
        if (observe(isAwaited) >= quietMs || performance.now() >= end) return false;
        if (!(await delay(fetchPollIntervalMs, stopped.signal))) return false;
      }
      return true;
    },
    async untilFetching(timeoutMs) {
      const end = performance.now() + timeoutMs;
      while (fetching.size === 0 && performance.now() < end && (await delay(askPollIntervalMs, stopped.signal)));
    },
    stop() {
      stopped.abort();
      page.off('request', asked).off('response', onResponse);
      page.off('requestfailed', ended).off('requestfinished', ended);
    },
  };
}

/** What a script asks for to show more of a page. Images have a wait of their own. */
const contentTypes = new Set(['xhr', 'fetch', 'script', 'document']);
/** What an app shows, and its parts. */
const fetchedTypes = new Set(['xhr', 'fetch', 'script']);
/** What a frame is seen by. */
const frameTypes = new Set(['document', 'stylesheet', 'script', 'image', 'font']);

/** Requests of the page that show more of it. */
export const isContent = (request: Request): boolean => contentTypes.has(request.resourceType());

/** Requests that the page's own scripts make, its workers among them; not those of its frames. */
function isFetched(request: Request, page: Page): boolean {
  return fetchedTypes.has(request.resourceType()) && frameOf(request) === page.mainFrame();
}

/** Requests of the frames in the page, whose documents may be out of our reach. */
export function isOfFrame(request: Request): boolean {
  return frameTypes.has(request.resourceType()) && Boolean(frameOf(request)?.parentFrame());
}

/** None while it is only being made (it is the page's own), and for what service workers ask for. */
function frameOf(request: Request): Frame | undefined {
  try {
    return request.frame();
  } catch {
    return undefined;
  }
}

/** Requests of a kind that began since this was made and have not ended. */
export class LoadingRequests {
  readonly #page: Page;
  readonly #isWanted: (request: Request) => boolean;
  readonly #open = new Set<Request>();
  #begun = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(page: Page, isWanted: (request: Request) => boolean) {
    this.#page = page;
    this.#isWanted = isWanted;
    page.on('request', this.#began).on('requestfinished', this.#ended).on('requestfailed', this.#ended);
  }

  /** How many there were at all. */
  get begun(): number {
    return this.#begun;
  }

  /** How many have not ended. */
  get open(): number {
    return this.#open.size;
  }

  /** Resolves when none is open. */
  async none(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  stop(): void {
    this.#page.off('request', this.#began).off('requestfinished', this.#ended).off('requestfailed', this.#ended);
    this.#open.clear();
    this.#wake();
  }

  readonly #began = (request: Request): void => {
    if (!this.#isWanted(request)) return;
    this.#begun += 1;
    this.#open.add(request);
  };

  readonly #ended = (request: Request): void => {
    if (this.#open.delete(request) && this.#open.size === 0) this.#wake();
  };

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
