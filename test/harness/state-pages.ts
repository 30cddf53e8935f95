/**
 * Pages that store something in every place that a browser offers, and pages that look for it. The source of these functions runs in the
 * pages, so they use only browser APIs and each other.
 */
import type { IncomingMessage } from 'node:http';
import { html, type Handler } from './engine.ts';

/** Values that a page found, by place. */
export type Found = Readonly<Record<string, unknown>>;

/** A document that runs `call` and reports its result before its load event: an image waits for the report. */
export function statePage(call: string, body = ''): string {
  return html(
    `${body}<script>
      ${[plantStores, plantServiceWorker, buckets].map(String).join('\n')}
      const by = new URLSearchParams(location.search).get('by');
      const send = fetch;
      document.write('<img src="/reported?by=' + by + '">');
      (${call}).catch((error) => ({ error: String(error) }))
        .then((facts) => send('/report?by=' + by, { method: 'POST', body: JSON.stringify(facts) }));
    </script>`,
    '<style>a { display: block; width: 100px; height: 100px; background: #0a0 } a:visited { background: #f00 }</style>',
  );
}

/** The head of a document whose server also sets state. */
export const plantingHeaders = (secret: string) => ({
  'content-type': 'text/html',
  'accept-ch': 'Sec-CH-UA-Platform-Version',
  'set-cookie': [
    `http-only=${secret}; HttpOnly; Max-Age=9999`,
    `partitioned=${secret}; Secure; SameSite=None; Partitioned; Max-Age=9999`,
  ],
});

/** The reports of pages, by the name that each received as `by`. */
export class StateReports {
  readonly #reports = new Map<string, Found>();
  readonly #waiting = new Map<string, () => void>();

  get(by: string): Found | undefined {
    return this.#reports.get(by);
  }

  /** Requests of state pages to their server. */
  readonly routes: Readonly<Record<string, Handler>> = {
    '/headers': ({ headers }, response) => {
      const { cookie = '', authorization = '', 'x-given': given = '' } = headers;
      response.end(
        JSON.stringify({ cookie, authorization, given, hint: headers['sec-ch-ua-platform-version'] ?? null }),
      );
    },
    '/worker.js': (_, response) =>
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(
        `oninstall = () => skipWaiting(); onactivate = (event) => event.waitUntil(clients.claim());
         onfetch = (event) => { if (event.request.url.endsWith('/from-worker')) event.respondWith(new Response('worker')); };`,
      ),
    '/report': (request, response) => {
      const by = queryOf(request, 'by');
      void request.toArray().then((parts) => {
        this.#reports.set(by, JSON.parse(parts.join('')) as Found);
        response.end();
        this.#waiting.get(by)?.();
      });
    },
    '/reported': (request, response) => {
      const by = queryOf(request, 'by');
      if (this.#reports.has(by)) response.writeHead(404).end();
      else this.#waiting.set(by, () => response.writeHead(404).end());
    },
  };
}

export const queryOf = ({ url = '/' }: IncomingMessage, name: string) =>
  new URL(url, 'http://x').searchParams.get(name) ?? '';

/** Stores the secret in every kind of storage of the page's origin, and in the name of its tab. */
async function plantStores(secret: string): Promise<void> {
  document.cookie = `plain=${secret}; Max-Age=9999`;
  localStorage.setItem('x', secret);
  sessionStorage.setItem('x', secret);
  window.name = secret;
  await new Promise((resolve, reject) => {
    const opening = indexedDB.open(secret, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('x').put(secret, 'x');
    opening.onsuccess = resolve;
    opening.onerror = reject;
  });
  await (await caches.open(secret)).put('/x', new Response(secret));
  const folder = await navigator.storage.getDirectory();
  const file = await (await folder.getFileHandle(secret, { create: true })).createWritable();
  await file.write(secret.repeat(10_000));
  await file.close();
}

interface Buckets {
  open(name: string): Promise<unknown>;
  keys(): Promise<string[]>;
}

function buckets(): Buckets | undefined {
  return (navigator as { storageBuckets?: Buckets }).storageBuckets;
}

async function plantServiceWorker(): Promise<void> {
  await navigator.serviceWorker.register('/worker.js');
  await new Promise<void>((resolve) => {
    if (navigator.serviceWorker.controller) resolve();
    else navigator.serviceWorker.oncontrollerchange = () => resolve();
  });
}

/** Values that a page finds if nothing was stored. */
export const nothing: Found = {
  headers: { cookie: '', authorization: '', given: '', hint: null },
  cookies: '',
  localStorage: {},
  sessionStorage: {},
  databases: [],
  caches: [],
  files: [],
  bytesStored: 0,
  workers: 0,
  fromWorker: 404,
  windowName: '',
};

/** Stores something in every place that the browser offers, and reads it. */
export async function plantState(by: string, secret: string): Promise<Found> {
  await plantStores(secret);
  await plantServiceWorker();
  const login = new XMLHttpRequest();
  login.open('GET', '/auth', true, 'user', secret);
  await new Promise((resolve) => {
    login.onloadend = resolve;
    login.send();
  });
  await fetch('/cached');
  const frame = document.createElement('iframe');
  frame.src = `/look?by=${by}-itself`;
  document.body.append(frame);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const found = (frame.contentWindow as { found?: Found } | null)?.found;
    if (found) return { ...found, windowName: window.name };
  }
}

/** Reads every place in which {@link plantState} stores something. */
export async function lookForState(): Promise<Found> {
  const files: string[] = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
  const found: Found = {
    headers: await (await fetch('/headers')).json(),
    cookies: document.cookie,
    localStorage: { ...localStorage },
    sessionStorage: { ...sessionStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    files,
    bytesStored: (await navigator.storage.estimate()).usage,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    fromWorker: (await fetch('/from-worker')).status,
    cached: await (await fetch('/cached')).text(),
    windowName: window.name,
  };
  Object.assign(window, { found });
  return found;
}

/** Exchanges messages with other pages of the same origin. */
export async function talk(by: string): Promise<Found> {
  const heard = new Set<string>();
  const channel = new BroadcastChannel('x');
  channel.onmessage = ({ data }) => heard.add(`channel ${data}`);
  const worker = new SharedWorker('/shared-worker.js');
  worker.port.onmessage = ({ data }) => data.forEach((one: string) => heard.add(`worker ${one}`));
  onstorage = ({ newValue }) => heard.add(`storage ${newValue}`);
  await fetch(`/both?by=${by}`);
  await new Promise<void>((granted) => {
    void navigator.locks.request(by, () => (granted(), new Promise(() => undefined)));
  });
  // A channel does not deliver messages to its sender, so the page reports its own value.
  const echo = new BroadcastChannel('x');
  const hearsItself = () => heard.has(`channel ${by}`) && heard.has(`worker ${by}`);
  for (let turn = 0; turn < 10 || !hearsItself(); turn += 1) {
    echo.postMessage(by);
    worker.port.postMessage(by);
    localStorage.setItem(by, `${turn}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  for (const { name } of (await navigator.locks.query()).held ?? []) heard.add(`lock ${name}`);
  for (const key of Object.keys(localStorage)) heard.add(`key ${key}`);
  return { heard: [...heard].toSorted() };
}

/**
 * Stores something in every place that a wipe has to clear, and nothing that prevents reuse of the page: no worker, no frame of
 * another site.
 */
export async function plantReused(secret: string): Promise<Found> {
  await plantStores(secret);
  await buckets()?.open(secret);
  for (const number of [1, 2, 3]) history.pushState({ secret }, '', `?number=${number}&by=${secret}`);

  // These handlers store the secret again when the page is left, or later.
  const again = () => {
    localStorage.setItem('again', secret);
    sessionStorage.setItem('again', secret);
    document.cookie = `again=${secret}; Max-Age=9999`;
    window.name = secret;
  };
  for (const event of ['beforeunload', 'pagehide', 'unload', 'visibilitychange', 'freeze', 'blur'])
    addEventListener(event, again);
  document.addEventListener('visibilitychange', again);
  addEventListener('beforeunload', (event) => event.preventDefault());
  setInterval(again, 1);
  const channel = new BroadcastChannel('x');
  setInterval(() => channel.postMessage(secret), 5);
  void navigator.locks.request('x', () => new Promise(() => undefined));
  // These requests start so late that the capture does not wait for them.
  addEventListener('load', () =>
    setTimeout(() => {
      void send('/never');
      // The responses arrive when the page is gone.
      void send('/late?keepalive', { keepalive: true });
      navigator.sendBeacon('/late?beacon');
    }),
  );
  addEventListener('pagehide', () => navigator.sendBeacon('/late?pagehide'));
  const later = (window as { fetchLater?: (path: string) => void }).fetchLater;
  later?.('/late?later');

  const send = fetch;

  // State of the document and its realm.
  Object.assign(Object.prototype, { planted: secret });
  Object.assign(Array.prototype, { map: () => [secret] });
  window.fetch = () => Promise.resolve(new Response(secret));
  document.fonts.add(new FontFace('planted', 'url(/none)'));
  document.adoptedStyleSheets = [new CSSStyleSheet()];
  document.adoptedStyleSheets[0]?.replaceSync('* { color: red }');
  const frame = document.createElement('iframe');
  frame.srcdoc = '<script>addEventListener("pagehide", () => localStorage.setItem("frame", "x"))<' + '/script>';
  document.body.append(frame);
  document.body.style.height = '5000px';
  scrollTo(0, 2000);
  window.open('/look?by=popup');
  resizeTo(400, 300);
  moveTo(50, 50);
  await (screen.orientation as unknown as { lock(type: string): Promise<void> }).lock('portrait');
  setTimeout(() => alert(secret), 100);
  return { plain: document.cookie, historyLength: history.length };
}

/** Reads every place, and the state of the previous document in the same page that a document can see. */
export async function lookAfterWipe(): Promise<Found> {
  const heard: unknown[] = [];
  new BroadcastChannel('x').onmessage = ({ data }) => heard.push(data);
  const files: string[] = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) files.push(name);
  const names = ['geolocation', 'notifications', 'persistent-storage', 'camera', 'clipboard-read', 'midi'] as const;
  const permissions = await Promise.all(
    names.map(async (name) => (await navigator.permissions.query({ name: name as PermissionName })).state),
  );
  const media = ['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)', 'print'];
  await new Promise((resolve) => setTimeout(resolve, 60));
  const ordinary = document.createElement('iframe');
  document.body.append(ordinary);
  const clean = ordinary.contentWindow as unknown as typeof globalThis;
  return {
    headers: await (await fetch('/headers')).json(),
    cookies: document.cookie,
    localStorage: Object.entries(localStorage),
    sessionStorage: Object.entries(sessionStorage),
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    files,
    buckets: await buckets()?.keys(),
    bytesStored: (await navigator.storage.estimate()).usage,
    isPersisted: await navigator.storage.persisted(),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    fromWorker: (await fetch('/from-worker')).status,
    windowName: window.name,
    history: [history.length, history.state],
    entries: (window as { navigation?: { entries(): unknown[] } }).navigation?.entries().length,
    referrer: document.referrer,
    opener: window.opener,
    heard,
    locks: (await navigator.locks.query()).held,
    polluted: Object.keys(Object.prototype),
    map: [1].map(String),
    globals: Object.getOwnPropertyNames(window).length,
    sameGlobals: Object.getOwnPropertyNames(clean).length,
    fonts: document.fonts.size,
    sheets: document.adoptedStyleSheets.length,
    scrollY,
    size: [
      innerWidth,
      innerHeight,
      devicePixelRatio,
      screen.width,
      screen.height,
      outerWidth,
      outerHeight,
      screenX,
      screenY,
    ],
    orientation: screen.orientation.type,
    zoom: visualViewport?.scale,
    media: media.filter((query) => matchMedia(query).matches),
    background: getComputedStyle(document.documentElement).backgroundColor,
    permissions,
    agent: [navigator.userAgent, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone],
    touch: [navigator.maxTouchPoints, 'ontouchstart' in window],
    isFullscreen: document.fullscreenElement !== null,
    type: performance.getEntriesByType('navigation').map((entry) => (entry as PerformanceNavigationTiming).type),
    canClose: window.close.toString(),
  };
}

/** Stores something for the next page through a worker, or a frame of another site. */
export async function plantWorker(secret: string, kind: string): Promise<Found> {
  if (kind === 'service') {
    await plantServiceWorker();
    return { fromWorker: await (await fetch('/from-worker')).text() };
  }
  if (kind === 'frame') {
    const frame = document.createElement('iframe');
    frame.src = `http://localhost:${location.port}/store?${secret}`;
    const loaded = new Promise((resolve) => (frame.onload = resolve));
    document.body.append(frame);
    await loaded;
    return {};
  }
  const worker = kind === 'shared' ? new SharedWorker('/echo.js').port : new Worker('/echo.js');
  await new Promise((resolve) => (worker.onmessage = resolve));
  return {};
}
