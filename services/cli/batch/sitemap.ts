import { lookup } from 'node:dns/promises';
import { gunzipSync } from 'node:zlib';
import { XMLParser } from 'fast-xml-parser';
import { createEgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { byField, findProblems } from '../capture/options.ts';
import { CliError } from '../errors.ts';
import type { RawEntry } from './entries.ts';
import { isWebAddress, maxEntries } from './entries.ts';

/** Maximum uncompressed size of a sitemap according to sitemaps.org. */
const maxSitemapBytes = 50 * 1024 * 1024;
const maxDepth = 3;
const maxSitemaps = 1000;
const fetchTimeoutMs = 30_000;
const maxRedirects = 20;

const parser = new XMLParser({
  ignoreAttributes: true,
  removeNSPrefix: true,
  parseTagValue: false,
  // Includes the numeric entities of HTML. Text with a document type, which could declare other entities, has already been
  // refused.
  processEntities: true,
  htmlEntities: true,
  isArray: (name) => name === 'url' || name === 'sitemap' || name === 'loc',
});

export const isSitemap = (bytes: Buffer): boolean =>
  isGzip(bytes) || /^\uFEFF?\s*</.test(bytes.subarray(0, 1000).toString());

const isGzip = (bytes: Buffer) => bytes[0] === 0x1f && bytes[1] === 0x8b;

/** Decompresses a file if it is compressed. @throws CliError `usage` */
export function unpack(bytes: Buffer, name: string): Buffer {
  if (!isGzip(bytes)) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: maxSitemapBytes });
  } catch (error) {
    const reason =
      (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'larger than 50 MiB' : 'not valid gzip';
    throw new CliError('usage', `${name} is ${reason}.`, { cause: error });
  }
}

/**
 * Returns the pages of a sitemap and of the sitemaps that it names, each once. `warn` receives a sentence about skipped entries.
 *
 * A sitemap may name only sitemaps of its origin, as sitemaps.org requires. Otherwise a site could choose which addresses of the local
 * network receive requests. A sitemap that was read from a file may come from a site as well. Its origin is the given one, or else that of
 * the first sitemap that it names, unless that address is in the local network.
 */
export async function readSitemap(
  bytes: Buffer,
  name: string,
  {
    signal,
    warn,
    origin: given,
  }: { signal: AbortSignal; warn: (sentence: string) => void; origin?: string | undefined },
): Promise<RawEntry[]> {
  const pages = new Set<string>();
  const read = new Set<string>([name]);
  const waiting = [{ name, depth: 0 }];
  let origin = isWebAddress(name) ? new URL(name).origin : given;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const packed = next.depth === 0 ? bytes : await fetchBytes(next.name, signal);
    const { urls, sitemaps } = parseSitemap(packed, next.name);
    for (const url of urls) {
      if (isWebAddress(url) && findProblems({ url }, byField).length === 0) pages.add(url);
      else warn(`${next.name}: skipped "${url.slice(0, 200)}", which is not an http or https URL of a page.`);
    }
    if (pages.size > maxEntries) throw new CliError('usage', `${name} names more than ${maxEntries} pages. Split it.`);
    for (const url of sitemaps) {
      if (read.has(url)) continue;
      const leaveOut = (rule: string) => warn(`${next.name}: skipped the sitemap "${url.slice(0, 200)}": ${rule}.`);
      if (!isWebAddress(url)) {
        leaveOut(origin === undefined ? 'it is not an http or https URL' : `only those of ${origin} are read`);
        continue;
      }
      const { origin: own } = new URL(url);
      if (origin === undefined && !(await isPublic(new URL(url)))) {
        leaveOut(`it is not on the public internet. If you trust that address, use --sitemap-origin ${own}`);
        continue;
      }
      if (own !== (origin ??= own)) {
        leaveOut(`only those of ${origin} are read`);
        continue;
      }
      if (next.depth >= maxDepth)
        throw new CliError('usage', `${name}: sitemaps are nested more than ${maxDepth} deep.`);
      if (read.size >= maxSitemaps) throw new CliError('usage', `${name} names more than ${maxSitemaps} sitemaps.`);
      read.add(url);
      waiting.push({ name: url, depth: next.depth + 1 });
    }
  }
  return [...pages].map((url) => ({ place: url.slice(0, 200), request: { url } }));
}

/** Whether an address, and all addresses of its name, are on the public internet. */
async function isPublic(url: URL): Promise<boolean> {
  const policy = createEgressPolicy({ allow: [] });
  try {
    policy.checkLiteral(url);
    // Uses the same resolver as fetch.
    const found = await lookup(url.hostname.replaceAll(/^\[|\]$/g, ''), { all: true });
    return found.every(({ address }) => policy.checkAddress(address).allowed);
  } catch {
    return false;
  }
}

function parseSitemap(packed: Buffer, name: string): { urls: string[]; sitemaps: string[] } {
  const text = unpack(packed, name).toString();
  if (/<!DOCTYPE/i.test(text))
    throw new CliError('usage', `${name} contains a document type, which is not allowed in a sitemap.`);
  let document: Partial<Record<'urlset' | 'sitemapindex', Record<string, unknown>>>;
  try {
    document = parser.parse(text) as typeof document;
  } catch (error) {
    throw new CliError('usage', `${name} is not XML: ${(error as Error).message}.`, { cause: error });
  }
  if (!('urlset' in document) && !('sitemapindex' in document)) {
    throw new CliError('usage', `${name} is not a sitemap: its root is neither urlset nor sitemapindex.`);
  }
  return { urls: locationsOf(document.urlset, 'url'), sitemaps: locationsOf(document.sitemapindex, 'sitemap') };
}

function locationsOf(root: unknown, item: string): string[] {
  const items = ((root || {}) as Record<string, { loc?: unknown[] }[] | undefined>)[item] ?? [];
  return items.flatMap(({ loc = [] }) => loc.map(String)).filter((text) => text !== '');
}

/**
 * Downloads a list from an http or https address. Redirects must stay within its origin. @throws CliError `unavailable`, `usage`
 */
export async function fetchBytes(url: string, signal: AbortSignal): Promise<Buffer> {
  if (!isWebAddress(url))
    throw new CliError('usage', `"${url.slice(0, 200)}" is not an http or https URL of a sitemap.`);
  const unreachable = (reason: string, cause?: unknown) =>
    new CliError('unavailable', `${url} could not be fetched: ${reason}.`, { cause });
  try {
    const response = await fetchFromOrigin(url, AbortSignal.any([signal, AbortSignal.timeout(fetchTimeoutMs)]));
    if (!response.ok) throw unreachable(`the server answered with status ${response.status}`);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > maxSitemapBytes) throw new CliError('usage', `${url} is larger than 50 MiB.`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof CliError) throw error;
    const { cause, message } = error as Error;
    throw unreachable(cause instanceof Error ? cause.message : message, error);
  }
}

async function fetchFromOrigin(url: string, signal: AbortSignal): Promise<Response> {
  let address = new URL(url);
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const response = await fetch(address, { signal, redirect: 'manual' });
    const location = response.headers.get('location');
    const isRedirect = response.status >= 300 && response.status < 400 && location !== null;
    const target = isRedirect ? URL.parse(location, address) : null;
    if (target === null) return response;
    await response.body?.cancel();
    if (target.origin !== address.origin) {
      throw new CliError(
        'usage',
        `${url} redirects to another site, ${target.href.slice(0, 200)}. If you trust that address, use it instead.`,
      );
    }
    address = target;
  }
  throw new CliError('unavailable', `${url} redirects more than ${maxRedirects} times.`);
}
