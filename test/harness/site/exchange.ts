import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** One request to the test site, with helpers for the response. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** Origin of this site, as in the request. */
  readonly origin: string;
  /** Resolves when the test releases this visit. */
  readonly released: Promise<void>;
  readonly #gone = new AbortController();

  constructor(options: {
    request: IncomingMessage;
    response: ServerResponse;
    query: URLSearchParams;
    origin: string;
    released: Promise<void>;
  }) {
    this.request = options.request;
    this.response = options.response;
    this.query = options.query;
    this.origin = options.origin;
    this.released = options.released;
    this.response.once('close', () => this.#gone.abort());
  }

  /** A parameter of the address, or its default. */
  text(name: string, fallback = ''): string {
    return this.query.get(name) ?? fallback;
  }

  number(name: string, fallback = 0): number {
    return Number(this.query.get(name) ?? fallback);
  }

  /** An address on this site that belongs to the same visit, escaped for an HTML attribute. */
  link(path: string, parameters: Readonly<Record<string, string | number>> = {}): string {
    return this.address(path, parameters).replaceAll('&', '&amp;');
  }

  /** Like `link`, for scripts. */
  address(path: string, parameters: Readonly<Record<string, string | number>> = {}): string {
    const query = new URLSearchParams({ v: this.text('v') });
    for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
    return `${path}?${query}`;
  }

  /** Responds with a page. */
  page(body: string, options: { status?: number; head?: string; headers?: Record<string, string> } = {}): void {
    this.response.writeHead(options.status ?? 200, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      ...options.headers,
    });
    this.response.end(pageOf(body, { title: this.text('title', 'a test page'), head: options.head ?? '' }));
  }

  send(type: string, body: string | Buffer, status = 200): void {
    this.response.writeHead(status, {
      'content-type': type,
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
    });
    this.response.end(body);
  }

  /** Waits; ends early if the client has disconnected. */
  async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#gone.signal }).catch(() => undefined);
  }
}

/** A whole document whose only style removes the margin of the body. */
export function pageOf(body: string, options: { title?: string; head?: string } = {}): string {
  const { title = 'a test page', head = '' } = options;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title><style>html,body{margin:0;padding:0}</style>${head}</head><body>${body}</body></html>`;
}

type Handler = (exchange: Exchange) => Promise<void> | void;
export type Routes = Readonly<Record<string, Handler>>;
