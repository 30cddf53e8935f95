import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A small website on this machine. Strings are HTML; unknown paths return 404. */
export class TestSite {
  readonly #server: Server;
  readonly hits: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(pages: Record<string, string | Handler>): Promise<TestSite> {
    const server = createServer((request, response) => {
      site.hits.push(request.url ?? '');
      const page = pages[new URL(request.url ?? '/', 'http://x').pathname];
      if (typeof page === 'function') return page(request, response);
      response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(page ?? 'not found');
    });
    const site = new TestSite(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/', host = '127.0.0.1'): string {
    return `http://${host}:${this.port}${path}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Returns a document without margins. */
export function html(body: string, head = ''): string {
  return `<!doctype html><html><head><title>Test</title><style>html,body{margin:0}</style>${head}</head><body>${body}</body></html>`;
}
