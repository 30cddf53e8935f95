/** What a page found, by where it looked. These scripts run in pages: they use nothing but what a browser has. */
export type Found = Readonly<Record<string, unknown>>;

/** What a page finds where nothing was left. */
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

/** Leaves something in every place that a browser has for it, and looks for it. */
export async function plantState(by: string, secret: string): Promise<Found> {
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
  await navigator.serviceWorker.register('/worker.js');
  await new Promise<void>((resolve) => {
    if (navigator.serviceWorker.controller) resolve();
    else navigator.serviceWorker.oncontrollerchange = () => resolve();
  });
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

/** Looks everywhere. */
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

/** Talks to whoever of the same origin is there. */
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
  // It says what it hears itself: a channel does not speak to the one who speaks.
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
