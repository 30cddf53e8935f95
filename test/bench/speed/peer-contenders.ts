import process from 'node:process';
import { benchQuality, benchViewport, type BenchTask, type Contender } from './contender.ts';
import { postCapture } from './fleet-contender.ts';

/** `<kind>=<address>[,…]`: running services, e.g. `browserless=http://127.0.0.1:3000?token=x`. */
const variable = 'WEBCAPTURE_BENCH_PEERS';

type Send = (address: URL, task: BenchTask) => Promise<Response | undefined>;

const kinds = {
  browserless: (address, { page, url, format }) =>
    format === 'pdf'
      ? postJson(
          new URL('pdf', address),
          { url, options: { printBackground: true, format: 'A4', tagged: false } },
          address,
        )
      : postJson(
          new URL('screenshot', address),
          {
            url,
            viewport: benchViewport,
            options: {
              type: format,
              fullPage: page.isFullPage,
              ...(format === 'jpeg' ? { quality: benchQuality } : {}),
            },
          },
          address,
        ),
  gotenberg: (address, { page, url, format }) => {
    const form = new FormData();
    form.set('url', url);
    if (format === 'pdf') {
      form.set('printBackground', 'true');
      form.set('paperWidth', '8.27');
      form.set('paperHeight', '11.7');
      return fetch(new URL('forms/chromium/convert/url', address), { method: 'POST', body: form });
    }
    form.set('format', format);
    form.set('width', String(benchViewport.width));
    if (!page.isFullPage) form.set('height', String(benchViewport.height));
    form.set('clip', String(!page.isFullPage));
    form.set('quality', String(benchQuality));
    form.set('optimizeForSpeed', 'true');
    return fetch(new URL('forms/chromium/screenshot/url', address), { method: 'POST', body: form });
  },
  /** Another installation of this service; the user name of the address is its key. */
  webcapture: async (address, task) => {
    await postCapture({ url: address.origin, key: decodeURIComponent(address.username) }, task);
    return undefined;
  },
} satisfies Readonly<Record<string, Send>>;

type PeerKind = keyof typeof kinds;
const isKind = (name: string): name is PeerKind => Object.hasOwn(kinds, name);

/** Returns the peers in the environment variable. Throws for an unknown kind. */
export function configuredPeers(): Contender[] {
  const entries = (process.env[variable] ?? '').split(',').filter((entry) => entry !== '');
  return entries.map((entry) => {
    const [kind = '', ...rest] = entry.split('=');
    const address = rest.join('=');
    if (!isKind(kind) || !URL.canParse(address)) {
      const known = Object.keys(kinds).join(', ');
      throw new Error(`${variable}: "${entry}" is not <kind>=<address> with a kind of ${known}`);
    }
    return peerContender(kind, address);
  });
}

/** A running service as a contender. */
export function peerContender(
  kind: PeerKind,
  address: string,
  { name = kind, processes = () => [] }: Partial<Pick<Contender, 'name' | 'processes'>> = {},
): Contender {
  return { name, capture: (task) => fileOf(kind, kinds[kind](new URL(address), task)), processes };
}

function postJson(url: URL, body: unknown, { search }: URL): Promise<Response> {
  url.search = search;
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
}

async function fileOf(kind: string, sent: Promise<Response | undefined>): Promise<void> {
  const response = await sent;
  if (response === undefined) return;
  const bytes = await response.arrayBuffer();
  if (!response.ok) throw new Error(`${kind} returned ${response.status}: ${Buffer.from(bytes).toString()}`);
  if (bytes.byteLength === 0) throw new Error(`${kind} returned an empty file`);
}
