import http from 'node:http';
import { listen, publicAddress, type Site } from '../sites.ts';

export interface Served {
  readonly body: string;
  /** Default: text/html. */
  readonly type?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns the path under which {@link startPayloadSite} serves a response. The path contains the whole response. */
export function pathOf(served: Served): string {
  return `/serve?${new URLSearchParams({ what: JSON.stringify(served) }).toString()}`;
}

export interface PayloadSite extends Site {
  /** Serves a page that is too large for a URL, and returns its address. */
  publish(body: string): string;
}

/** Starts the site that serves all payloads, at the address that the policy allows. */
export async function startPayloadSite(): Promise<PayloadSite> {
  const pages = new Map<string, string>();
  const server = http.createServer({ maxHeaderSize: 1024 * 1024 }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    const what = searchParams.get('what');
    const served: Served = what === null ? { body: pages.get(pathname) ?? '' } : (JSON.parse(what) as Served);
    response.writeHead(served.status ?? 200, {
      'content-type': served.type ?? 'text/html; charset=utf-8',
      'access-control-allow-origin': '*',
      'service-worker-allowed': '/',
      ...served.headers,
    });
    response.end(served.body);
  });
  const site = await listen(server, publicAddress);
  return {
    ...site,
    publish(body) {
      const path = `/page-${pages.size}`;
      pages.set(path, body);
      return `http://${publicAddress}:${site.port}${path}`;
    },
  };
}
