import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Pages by `host/path`: HTML, or a handler. */
export type SitePages = Readonly<
  Record<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>
>;

/** Pages by host and path (`www.site.test/a`), all from one server on loopback. */
export interface Site {
  /** Returns the URL of a page, by `host/path`. */
  readonly url: (page: string) => string;
  /** `host/path` of every request, in order. */
  readonly requests: string[];
  readonly close: () => Promise<void>;
}

/**
 * Starts a site. A page is HTML or a handler. `$PORT` in HTML becomes the port, so that pages can refer to other hosts.
 * Other paths get a response that depends on their extension, so that tests list only documents.
 */
export async function startSite(pages: SitePages): Promise<Site> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const name = `${(request.headers.host ?? '').split(':')[0]}${request.url?.split('?')[0]}`;
    requests.push(name);
    const page = pages[name];
    response.setHeader('access-control-allow-origin', '*');
    if (typeof page === 'function') return page(request, response);
    if (typeof page === 'string') {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      return response.end(page.replaceAll('$PORT', String((server.address() as AddressInfo).port)));
    }
    const extension = /\.(\w+)$/.exec(name)?.[1] ?? '';
    response.setHeader('content-type', contentTypes[extension] ?? 'text/plain');
    response.end(extension === 'png' ? pixel : '/* */');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (page) => `http://${page.replace('/', `:${port}/`)}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const contentTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript',
  css: 'text/css',
  png: 'image/png',
  mp4: 'video/mp4',
  mp3: 'audio/mpeg',
  m3u8: 'application/vnd.apple.mpegurl',
  woff2: 'font/woff2',
};

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
