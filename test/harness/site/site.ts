import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../until.ts';
import { assets } from './assets.ts';
import { Exchange, type Routes } from './exchange.ts';
import { blockingPages } from './pages/blocking-pages.ts';
import { hostilePages } from './pages/hostile-pages.ts';
import { imagePages } from './pages/image-pages.ts';
import { networkPages } from './pages/network-pages.ts';
import { picturePages } from './pages/picture-pages.ts';
import { slowPages } from './pages/slow-pages.ts';
import { tallPages } from './pages/tall-pages.ts';

const routes: Routes = {
  ...assets,
  ...blockingPages,
  ...hostilePages,
  ...imagePages,
  ...networkPages,
  ...picturePages,
  ...slowPages,
  ...tallPages,
};

/** A request received by the site. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds on the clock of `performance.now()`. */
  readonly at: number;
  /** When the response was sent or the connection closed; undefined while it is open. */
  closedAt: number | undefined;
}

/** A page of the site with a unique address, so that its requests can be distinguished from those of other tests. */
export class Visit {
  readonly url: string;
  readonly requests: SeenRequest[] = [];
  readonly released = Promise.withResolvers<void>();

  constructor(url: string) {
    this.url = url;
  }

  /** Requests to a path. */
  seen(path: string): SeenRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** Waits until a path has received this number of requests. */
  async reached(path: string, times = 1): Promise<void> {
    await until(`${times} requests of ${path}`, () => this.seen(path).length >= times);
  }

  /**
   * Waits until the capture of a page requests `/asset/held`. The capture is then in progress until `release`. Throws if the
   * capture ends before.
   */
  async underWay(capture: Promise<unknown>): Promise<void> {
    const ended = capture.then((answer) => {
      throw new Error(`the capture ended before it was held: ${JSON.stringify(answer)}`);
    });
    await Promise.race([this.reached('/asset/held'), ended]);
  }

  /** Releases all requests that are held at `/asset/held`. */
  release(): void {
    this.released.resolve();
  }

  /** Waits for the first report of a script of the page about itself, and returns it parsed. */
  async facts<T>(): Promise<T> {
    const [beacon] = await until('a report of the page', () => {
      const seen = this.seen('/asset/beacon');
      return seen.length > 0 && seen;
    });
    return JSON.parse(beacon?.query.get('facts') ?? 'null') as T;
  }
}

/** A website whose pages behave as their addresses specify. */
export class Site implements AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Every request, including those of pages that no test opened. */
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #visits = new Map<string, Visit>();

  private constructor(server: Server, host: string) {
    this.#server = server;
    this.host = host;
    this.port = (server.address() as AddressInfo).port;
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', `http://${request.headers.host ?? host}`);
      const { method = '', headers } = request;
      const seen: SeenRequest = {
        method,
        path: url.pathname,
        query: url.searchParams,
        headers,
        at: performance.now(),
        closedAt: undefined,
      };
      response.once('close', () => (seen.closedAt = performance.now()));
      const visit = this.#visits.get(url.searchParams.get('v') ?? '');
      this.requests.push(seen);
      visit?.requests.push(seen);
      const released = visit?.released.promise ?? Promise.resolve();
      const handler = routes[url.pathname];
      if (handler === undefined) return void response.writeHead(404).end('no such page');
      const exchange = new Exchange({ request, response, query: url.searchParams, origin: url.origin, released });
      Promise.resolve(handler(exchange)).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(host = '127.0.0.1'): Promise<Site> {
    const server = createServer();
    // Many captures may connect at once.
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port: 0, host, backlog: 511 }, resolve);
    });
    return new Site(server, host);
  }

  get origin(): string {
    return `http://${this.host}:${this.port}`;
  }

  /** Returns an address of a page for one test: the requests that it causes are recorded separately. */
  visit(path: string, parameters: Readonly<Record<string, string | number>> = {}): Visit {
    const id = String(this.#visits.size + 1);
    const url = new URL(path, this.origin);
    for (const [name, value] of Object.entries({ v: id, ...parameters })) url.searchParams.set(name, String(value));
    const visit = new Visit(url.href);
    this.#visits.set(id, visit);
    return visit;
  }

  /** Returns the bare address of a page whose requests need no separate record. */
  url(path: string, parameters: Readonly<Record<string, string | number>> = {}): string {
    return this.visit(path, parameters).url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const visit of this.#visits.values()) visit.release();
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

/** Returns how many of these requests were open at the same time at most. */
export function peak(requests: readonly SeenRequest[]): number {
  const openAt = (moment: number) =>
    requests.filter(({ at, closedAt }) => at <= moment && (closedAt === undefined || closedAt > moment)).length;
  return Math.max(0, ...requests.map(({ at }) => openAt(at)));
}
