import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Frame, Page, Request, WebSocket } from 'playwright';
import type { PageSession } from '../browser/driver.ts';
import type { ProxySession } from '../egress/proxy.ts';

/** Time without a request, as in Playwright's `networkidle`. */
const quietMs = 500;

/** Poll interval: a tenth of the quiet time. The wait ends late by at most this time. */
const quietPollIntervalMs = 50;
/** Maximum time between two polls. If it is exceeded, this process was blocked. */
const maxLookIntervalMs = 2 * quietPollIntervalMs;
/** Poll interval: about one frame, within which a page shows a response. */
const fetchPollIntervalMs = 20;
/** Poll interval: short compared with the 40 ms within which a page sends its next request. */
const askPollIntervalMs = 5;
/** Maximum time between messages that belong together. */
const nextMessageMs = 250;
/** Number of messages after which a connection counts as an endless stream. */
const manyMessages = 10;

export interface NetworkWatch {
  /**
   * Resolves when no request has been waiting for its response, and no byte has arrived, for half a second. Time in which this process
   * was blocked does not count, because what arrived meanwhile has not been processed yet.
   */
  untilQuiet(): Promise<void>;
  /** Whether this process was blocked during `untilQuiet`. If so, Playwright's own timer may have counted that time as quiet. */
  readonly hasStalled: boolean;
  /** Whether any request of the page is unfinished. */
  readonly isLoading: boolean;
  /** Whether a request of the page's scripts is unfinished. */
  readonly isFetching: boolean;
  /**
   * Resolves with true when the requests of the scripts have ended. Resolves with false after `timeoutMs`. Also resolves with false if a
   * response has made no progress for half a second, because then the page does not read it.
   */
  untilFetched(timeoutMs: number): Promise<boolean>;
  /** Whether a connection of the page waits for its first message, or messages have just arrived. */
  readonly isListening: boolean;
  /** Resolves with true when the messages have arrived, with false after `timeoutMs`. */
  untilHeard(timeoutMs: number): Promise<boolean>;
  /** Resolves when the scripts send a request, or after `timeoutMs`. */
  untilFetching(timeoutMs: number): Promise<void>;
  stop(): void;
}

/** Whether the page waits for responses, after which its scripts may change it. */
export const isRequesting = ({ isLoading, isFetching, isListening }: NetworkWatch): boolean =>
  isLoading || isFetching || isListening;

/**
 * Watches the requests of a page. Call it before the navigation. The browser counts a request as unfinished until its body has been read.
 * Many pages call `fetch` and never read the response, so for the browser their network would never be idle. Therefore the bytes that
 * arrive through the proxy session are watched.
 */
export function watchNetwork(
  page: Page,
  proxySession: Pick<ProxySession, 'stats'>,
  cdp: Pick<PageSession, 'on' | 'off'>,
): NetworkWatch {
  const waiting = new Set<Request>();
  const loading = new Set<Request>();
  const fetching = new Set<Request>();
  /** Open WebSockets and server-sent event streams. */
  const connections = new Map<WebSocket | Request, Connection>();
  let lastEventAt = performance.now();
  let lastBytes = proxySession.stats().bytesReceived;

  const asked = (request: Request) => {
    waiting.add(request);
    loading.add(request);
    if (isFetched(request, page)) fetching.add(request);
    if (request.resourceType() === 'eventsource') connections.set(request, new Connection());
    lastEventAt = performance.now();
  };
  const answered = (request: Request) => {
    waiting.delete(request);
    lastEventAt = performance.now();
  };
  const ended = (request: Request) => {
    fetching.delete(request);
    loading.delete(request);
    connections.delete(request);
    answered(request);
  };
  const onResponse = (response: { request(): Request }) => answered(response.request());
  page.on('request', asked).on('response', onResponse).on('requestfailed', ended).on('requestfinished', ended);

  const onSocket = (socket: WebSocket) => {
    const connection = new Connection();
    connections.set(socket, connection);
    socket.on('framereceived', () => connection.heard());
    socket.on('close', () => connections.delete(socket));
  };
  // The event does not say which stream it belongs to.
  const onEvent = () => {
    for (const [by, connection] of connections) if ('resourceType' in by) connection.heard();
  };
  page.on('websocket', onSocket);
  cdp.on('Network.eventSourceMessageReceived', onEvent);
  const isListening = () => [...connections.values()].some((connection) => connection.isAwaited);

  /** Records activity since the last call, including a wait for a response. Returns the time without activity in milliseconds. */
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
    get isListening() {
      return isListening();
    },
    async untilHeard(timeoutMs) {
      const end = performance.now() + timeoutMs;
      while (isListening()) {
        if (performance.now() >= end || !(await delay(fetchPollIntervalMs, stopped.signal))) return false;
      }
      return true;
    },
    async untilFetching(timeoutMs) {
      const end = performance.now() + timeoutMs;
      while (fetching.size === 0 && performance.now() < end && (await delay(askPollIntervalMs, stopped.signal)));
    },
    stop() {
      stopped.abort();
      page.off('request', asked).off('response', onResponse).off('websocket', onSocket);
      cdp.off('Network.eventSourceMessageReceived', onEvent);
      page.off('requestfailed', ended).off('requestfinished', ended);
    },
  };
}

/** A connection that the page keeps open to receive messages. */
class Connection {
  #messages = 0;
  #lastAt = 0;

  heard(): void {
    this.#messages += 1;
    this.#lastAt = performance.now();
  }

  /** Whether its first message, or another message of the same group, may arrive soon. */
  get isAwaited(): boolean {
    if (this.#messages === 0) return true;
    return this.#messages < manyMessages && performance.now() - this.#lastAt < nextMessageMs;
  }
}

/** Resource types that can show more of a page. Images are waited for separately. */
const contentTypes = new Set(['xhr', 'fetch', 'script', 'document']);
/** Resource types with which an app loads its code and content. */
const fetchedTypes = new Set(['xhr', 'fetch', 'script']);
/** Resource types that make up the content of a frame. */
const frameTypes = new Set(['document', 'stylesheet', 'script', 'image', 'font']);

/** Requests of the page that can show more of it. */
export const isContent = (request: Request): boolean => contentTypes.has(request.resourceType());

/** Whether a request was sent by the page's own scripts and workers, and not by its frames. */
function isFetched(request: Request, page: Page): boolean {
  return fetchedTypes.has(request.resourceType()) && frameOf(request) === page.mainFrame();
}

/** Whether a request was sent by a frame in the page. The documents of frames may not be accessible. */
export function isOfFrame(request: Request): boolean {
  return frameTypes.has(request.resourceType()) && Boolean(frameOf(request)?.parentFrame());
}

/** Undefined for requests of service workers, and for requests of the main frame before it is created. */
function frameOf(request: Request): Frame | undefined {
  try {
    return request.frame();
  } catch {
    return undefined;
  }
}

/** Counts the requests of a kind that started after construction, and how many of them have not ended. */
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

  /** Number of requests so far. */
  get begun(): number {
    return this.#begun;
  }

  /** Number of requests that have not ended. */
  get open(): number {
    return this.#open.size;
  }

  /** Resolves when no request is open. */
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
