/** What a page found, by where it looked. These scripts run in pages: they use nothing but what a browser has. */
export type Found = Readonly<Record<string, unknown>>;

/**
 * Leaves something everywhere where a wipe has to remove it, and nothing that keeps the page from being used again: no worker, no
 * frame of another site.
 */
export async function plant(secret: string): Promise<Found> {
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
  for (const number of [1, 2, 3]) history.pushState({ secret }, '', `?number=${number}&by=${secret}`);

  // What would write again while the page is left, or after that.
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
  // Not so early that the capture would wait for them.
  addEventListener('load', () =>
    setTimeout(() => {
      void send('/never');
      // Answers come when the page is gone.
      void send('/late?keepalive', { keepalive: true });
      navigator.sendBeacon('/late?beacon');
    }),
  );
  addEventListener('pagehide', () => navigator.sendBeacon('/late?pagehide'));
  const later = (window as { fetchLater?: (path: string) => void }).fetchLater;
  later?.('/late?later');

  const send = fetch;

  // What the document and its realm are.
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
  setTimeout(() => alert(secret), 100);
  return { plain: document.cookie, historyLength: history.length };
}

/** Looks everywhere. */
export async function look(): Promise<Found> {
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
    size: [innerWidth, innerHeight, devicePixelRatio, screen.width, screen.height],
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

/** Leaves something for the next page by a worker of its own, or a frame of another site. */
export async function plantWorker(secret: string, kind: string): Promise<Found> {
  if (kind === 'service') {
    await navigator.serviceWorker.register('/worker.js');
    await new Promise<void>((resolve) => {
      if (navigator.serviceWorker.controller) resolve();
      else navigator.serviceWorker.oncontrollerchange = () => resolve();
    });
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
