import { absoluteUrl } from './transport.ts';
import type { LinkOptions } from './types.ts';

/** The key whose signing secret signs a link, and the time at which the link expires. */
export interface SignLinkOptions {
  /** ID of the API key on whose behalf the link captures. */
  readonly keyId: string;
  /** Signing secret of that key: `wcs_` and base64url, from `rotateSigningSecret`. */
  readonly secret: string;
  /** Time at which the link expires, in Unix seconds; at most 366 days ahead. */
  readonly expires: number;
}

/**
 * Signs a capture link. Such a URL returns the file of a capture without an API key, for `<img>` and emails. Sends no request.
 *
 * @param url address of the service, as for the client
 * @param options options of the capture; the service answers 400 to options that a link cannot have
 * @throws TypeError if `url` is not an http or https address
 */
export async function signLink(
  url: string,
  options: LinkOptions,
  { keyId, secret, expires }: SignLinkOptions,
): Promise<string> {
  const pairs = [['key', keyId], ['expires', String(expires)], ...parametersOf(options)] as [string, string][];
  const query = pairs
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const bytes = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(`GET /capture?${query}`)));
  const hex = [...signature].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${absoluteUrl(url)}/capture?${query}&signature=${hex}`;
}

function parametersOf(value: unknown, path = ''): [string, string][] {
  if (value === undefined) return [];
  // The order of list items is significant.
  if (Array.isArray(value)) return [[path, JSON.stringify(value)]];
  if (typeof value === 'string') return [[path, value]];
  if (typeof value !== 'object' || value === null) return [[path, JSON.stringify(value)]];
  return Object.entries(value)
    .filter(([name]) => !(path === 'responseCache' && name === 'enabled'))
    .flatMap(([name, each]) => parametersOf(each, path === '' ? name : `${path}.${name}`));
}

/** Encodes all characters except letters, digits and -._~ (RFC 3986). */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
