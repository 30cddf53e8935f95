import type { BrowserContext } from 'playwright-core';

export interface ProbeTargets {
  /** Origin of a site that may be reached and that serves worker.js. */
  readonly site: string;
  /** The port of the http canaries, on loopback and on the addresses of the machine. */
  readonly port: number;
  /** The port of the UDP canary. */
  readonly udpPort: number;
  /** Addresses of the machine, IPv6 in brackets. */
  readonly machine: readonly string[];
}

const loopbackHosts = [
  '127.0.0.1',
  'localhost',
  '0x7f.1',
  '2130706433',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
  '[::]',
  'localhost.',
  'x.localhost',
  '127.0.0.1.',
];

/** Tries all the ways that a page has to reach the machine that renders it, and waits until they have had their chance. */
export async function probe(context: BrowserContext, targets: ProbeTargets): Promise<void> {
  const hosts = [...loopbackHosts, ...targets.machine, '169.254.169.254', '[fe80::1]'];
  const urls = hosts.flatMap((host) =>
    ['http', 'https'].map((scheme) => `${scheme}://${host}:${targets.port}/navigation`),
  );
  const visitor = async () => {
    for (let url = urls.pop(); url !== undefined; url = urls.pop()) await visit(context, url);
  };
  await Promise.all([visitor(), visitor(), visitor(), visitor()]);
  const page = await context.newPage();
  // A page that cannot be reached (there is no lane) tries from where it is.
  const bounds = { timeout: 3000, waitUntil: 'domcontentloaded' } as const;
  await page.goto(`${targets.site}/page`, bounds).catch(() => undefined);
  await page.setContent(markup(targets.port), bounds).catch(() => undefined);
  await page.evaluate(script(targets));
}

async function visit(context: BrowserContext, url: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(url, { timeout: 3000 }).catch(() => undefined);
  // Not awaited: a page that is closed at the moment of a commit may never say so. The context takes it along.
  void page.close().catch(() => undefined);
}

function markup(port: number): string {
  const to = (path: string) => `http://127.0.0.1:${port}/${path}`;
  return `<link rel=dns-prefetch href="//localhost"><link rel=preconnect href="${to('')}">
    <link rel=prefetch href="${to('prefetch')}"><img src="${to('image')}"><iframe src="http://localhost:${port}/frame"></iframe>
    <script type=speculationrules>{"prefetch": [{"urls": ["${to('speculation')}"], "eagerness": "immediate"}]}</script>`;
}

/** The part that a script does; it settles when every try has succeeded, failed, or had a second and a half. */
function script({ port, udpPort, machine }: ProbeTargets): string {
  const hosts = ['127.0.0.1', 'localhost', ...machine];
  const stun = ['127.0.0.1', ...machine].map((host) => `stun:${host}:${udpPort}`);
  const turn = ['127.0.0.1', ...machine].map((host) => `turn:${host}:${port}?transport=tcp`);
  return `(async () => {
    const tries = [];
    const attempt = (start) => tries.push(new Promise((resolve) => resolve(start())).catch(() => undefined));
    const event = (target, ...names) => new Promise((done) => names.forEach((name) => target.addEventListener(name, done)));
    for (const host of ${JSON.stringify(hosts)}) {
      const to = (path) => 'http://' + host + ':${port}/' + path;
      attempt(() => fetch(to('fetch'), { mode: 'no-cors' }));
      attempt(() => fetch(to('keepalive'), { mode: 'no-cors', keepalive: true }));
      attempt(() => navigator.sendBeacon(to('beacon'), 'x'));
      attempt(() => event(new EventSource(to('stream')), 'open', 'error'));
      for (const scheme of ['ws', 'wss']) {
        attempt(() => event(new WebSocket(scheme + '://' + host + ':${port}/socket'), 'open', 'error'));
      }
      attempt(() => new WebTransport('https://' + host + ':${udpPort}/').ready);
    }
    attempt(() => event(new Worker('/worker.js?port=${port}'), 'error'));
    attempt(() => navigator.serviceWorker.register('/worker.js?port=${port}'));
    attempt(async () => {
      const peer = new RTCPeerConnection({ iceServers: [
        { urls: ${JSON.stringify(stun)} }, { urls: ${JSON.stringify(turn)}, username: 'a', credential: 'b' },
      ] });
      peer.createDataChannel('x');
      await peer.setLocalDescription(await peer.createOffer());
      await new Promise(() => undefined);
    });
    await Promise.race([Promise.all(tries), new Promise((resolve) => setTimeout(resolve, 1500))]);
  })()`;
}
