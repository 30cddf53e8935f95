import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { Frame, Page, Request, WebSocket } from 'playwright';
import type { PageSession } from '../browser/page.ts';
import type { ProxySession } from '../egress/proxy.ts';

/** Time without a request, as for Playwright's `networkidle`. */
const quietMs = 500;

/** A tenth of the quiet time, by which the wait may end late. */
const quietPollIntervalMs = 50;
/** No look is so much later than the one before, unless this process stood still. */
const maxLookIntervalMs = 2 * quietPollIntervalMs;
/** About a frame, in which a page shows what has come. */
const fetchPollIntervalMs = 20;
/** Short against the 40 ms in which a page sends its next request. */
const askPollIntervalMs = 5;
/** Maximum time between messages that belong together. */
const nextMessageMs = 250;
/** A connection with this number of messages is a stream without an end. */
const manyMessages = 10;

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
  /** Whether a connection of the page has yet to bring its first message, or messages have just come. */
  readonly isListening: boolean;
  /** Resolves with true when the messages have come; with false when time is up. */
  untilHeard(timeoutMs: number): Promise<boolean>;
  /** Resolves when they ask for something, or after `timeoutMs`. */
  untilFetching(timeoutMs: number): Promise<void>;
  stop(): void;
}

/**
 * The browser calls a request under way until its body has been read, and many pages send `fetch` and never read what
 * comes: their network would be busy for ever. So the bytes are watched as they come in through the proxy session.
 * To be called before the navigation.
 */
export function watchNetwork(
  page: Page,
  proxySession: Pick<ProxySession, 'stats'>,
  cdp: Pick<PageSession, 'on' | 'off'>,
): NetworkWatch {
  const waiting = new Set<Request>();
  const loading = new Set<Request>();
  const fetching = new Set<Request>();
  /** Open ones, of WebSockets and of server-sent events. */
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
  // It is not told for which of them.
  const onEvent = () => {
    for (const [by, connection] of connections) if ('resourceType' in by) connection.heard();
  };
  page.on('websocket', onSocket);
  cdp.on('Network.eventSourceMessageReceived', onEvent);
  const isListening = () => [...connections.values()].some((connection) => connection.isAwaited);

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

/** One that the page holds open to be sent messages. */
class Connection {
  #messages = 0;
  #lastAt = 0;

  heard(): void {
    this.#messages += 1;
    this.#lastAt = performance.now();
  }

  /** Whether its first message, or more of those that belong together, may be about to come. */
  get isAwaited(): boolean {
    if (this.#messages === 0) return true;
    return this.#messages < manyMessages && performance.now() - this.#lastAt < nextMessageMs;
  }
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
