import process from 'node:process';
import { benchQuality, benchViewport, type BenchTask, type Contender } from './contender.ts';
import { postCapture } from './fleet-contender.ts';

/** `<kind>=<address>[,…]`: running services, e.g. `browserless=http://127.0.0.1:3000?token=x`. */
const variable = 'WEBCAPTURE_BENCH_PEERS';

/** Wait after an idle network, for scripts and animations, in milliseconds. */
const waitMs = 1000;
/** Limit of the wait for an idle network, for services that have one. */
const idleTimeoutMs = 10_000;

type Send = (address: URL, task: BenchTask) => Promise<Response | Buffer>;

const kinds = {
  browserless: (address, { page, url, format, isChecked = false }) => {
    const waits = isChecked
      ? {
          gotoOptions: { waitUntil: 'networkidle0', timeout: idleTimeoutMs },
          waitForTimeout: waitMs,
          bestAttempt: true,
        }
      : {};
    if (format === 'pdf') {
      const options = { printBackground: true, format: 'A4', tagged: false };
      return postJson(new URL('pdf', address), { url, options, ...waits }, address);
    }
    const options = {
      type: format,
      fullPage: page.isFullPage,
      ...(format === 'jpeg' ? { quality: benchQuality } : {}),
    };
    const body = { url, viewport: benchViewport, options, ...waits, ...(isChecked ? { scrollPage: true } : {}) };
    return postJson(new URL('screenshot', address), body, address);
  },
  gotenberg: (address, { page, url, format, isChecked = false }) => {
    const form = new FormData();
    form.set('url', url);
    if (isChecked) {
      form.set('skipNetworkIdleEvent', 'false');
      form.set('waitDelay', `${waitMs}ms`);
    }
    if (format === 'pdf') {
      form.set('printBackground', 'true');
      form.set('paperWidth', '8.27');
      form.set('paperHeight', '11.7');
      return post(new URL('forms/chromium/convert/url', address), { body: form });
    }
    form.set('format', format);
    form.set('width', String(benchViewport.width));
    form.set('height', String(benchViewport.height));
    form.set('clip', String(!page.isFullPage));
    form.set('quality', String(benchQuality));
    form.set('optimizeForSpeed', 'true');
    return post(new URL('forms/chromium/screenshot/url', address), { body: form });
  },
  /** Another installation of this service; the user name of the address is its key. */
  webcapture: (address, task) => postCapture({ url: address.origin, key: decodeURIComponent(address.username) }, task),
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
  return post(url, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

function post(url: URL, init: RequestInit): Promise<Response> {
  return fetch(url, { method: 'POST', ...init, signal: AbortSignal.timeout(60_000) });
}

async function fileOf(kind: string, sent: Promise<Response | Buffer>): Promise<Buffer> {
  const answer = await sent;
  if (Buffer.isBuffer(answer)) return answer;
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) throw new Error(`${kind} returned ${answer.status}: ${bytes.toString()}`);
  if (bytes.length === 0) throw new Error(`${kind} returned an empty file`);
  return bytes;
}
