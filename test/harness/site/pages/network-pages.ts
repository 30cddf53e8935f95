import type { Exchange, Routes } from '../exchange.ts';

/** Pages that report their environment, and pages that redirect. */
export const networkPages: Routes = {
  /** Reports {@link BrowserFacts}; the load event waits for the report. */
  '/facts': (exchange) =>
    exchange.page(
      `<style>body{background:#00ff00}</style>${report(
        exchange,
        `{
        userAgent: navigator.userAgent,
        webdriver: navigator.webdriver,
        languages: [...navigator.languages],
        plugins: navigator.plugins.length,
        hasChrome: typeof window.chrome === 'object',
        innerWidth, innerHeight, devicePixelRatio,
        dark: matchMedia('(prefers-color-scheme: dark)').matches,
        cookie: document.cookie,
        stored: localStorage.getItem('kept'),
        brands: navigator.userAgentData ? navigator.userAgentData.brands.map(({ brand }) => brand) : [],
        referrer: document.referrer,
        automation: Object.keys(window).filter((name) => /^(cdc_|__playwright|__pw|_selenium|domAutomation)/.test(name)),
      }`,
      )}`,
    ),

  /** Loads a number of additional bytes; its load event waits for them, or for their failure. */
  '/loading': (exchange) =>
    exchange.page(
      `<style>body{background:#00ff00}</style><script>
      const request = new XMLHttpRequest();
      request.open('GET', ${JSON.stringify(exchange.address('/asset/bytes', { size: exchange.number('bytes') }))}, false);
      try { request.send(); } catch {}
      </script>`,
    ),

  /** Responds with `code` and a green page, or with the body that such a status has. */
  '/status': (exchange) =>
    exchange.page('<style>body{background:#00ff00}</style>', { status: exchange.number('code') }),

  /** Redirects to `to` (default: a green page) with `code`, after `hops` more redirects. */
  '/redirect': (exchange) => {
    const hops = exchange.number('hops');
    const code = exchange.number('code', 302);
    const target = exchange.text('to') || exchange.address('/color', { c: '00ff00' });
    const location = hops > 0 ? exchange.address('/redirect', { code, to: target, hops: hops - 1 }) : target;
    exchange.response.writeHead(code, { location }).end();
  },

  '/redirect-loop': ({ response, request }) => void response.writeHead(302, { location: request.url ?? '/' }).end(),

  /** Redirects from inside of the page: by meta tag or script (by). */
  '/lead-on': (exchange) => {
    const target = exchange.text('to') || exchange.address('/color', { c: '00ff00' });
    exchange.page(
      exchange.text('by') === 'script'
        ? `<script>location.replace(${JSON.stringify(target)});</script>`
        : `<meta http-equiv="refresh" content="0; url=${target.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}">`,
    );
  },

  /** Requests `target` in every way that a page can: picture, frame, stylesheet, fetch, beacon, WebSocket, worker. */
  '/reach': (exchange) => {
    const target = exchange.text('target');
    const socket = target.replace(/^http/, 'ws');
    const attribute = target.replaceAll('&', '&amp;');
    exchange.page(
      `<style>body{background:#00ff00}</style>
      <img src="${attribute}img" width="1" height="1"><iframe src="${attribute}frame" width="1" height="1"></iframe>
      <link rel="stylesheet" href="${attribute}style"><link rel="prefetch" href="${attribute}prefetch">
      <script>
      const target = ${JSON.stringify(target)};
      const tries = [
        fetch(target + 'fetch', { mode: 'no-cors' }),
        new Promise((resolve) => { const s = new WebSocket(${JSON.stringify(socket)} + 'socket'); s.onopen = s.onerror = resolve; }),
      ];
      navigator.sendBeacon(target + 'beacon', 'x');
      try { new EventSource(target + 'events'); } catch {}
      Promise.allSettled(tries);
      </script>`,
    );
  },

  '/echo': (exchange) => exchange.send('text/plain', JSON.stringify(exchange.request.headers)),
};

function report(exchange: Exchange, facts: string): string {
  return `<script>
    const picture = document.createElement('img');
    picture.hidden = true;
    picture.src = ${JSON.stringify(exchange.address('/asset/beacon'))} + '&facts=' + encodeURIComponent(JSON.stringify(${facts}));
    document.documentElement.append(picture);
  </script>`;
}

export interface BrowserFacts {
  readonly userAgent: string;
  readonly webdriver: boolean | undefined;
  readonly languages: readonly string[];
  readonly plugins: number;
  readonly hasChrome: boolean;
  readonly innerWidth: number;
  readonly innerHeight: number;
  readonly devicePixelRatio: number;
  readonly dark: boolean;
  readonly cookie: string;
  readonly stored: string | null;
  readonly brands: readonly string[];
  readonly referrer: string;
  readonly automation: readonly string[];
}
