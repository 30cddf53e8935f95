import { linkRefusals } from '@webcapture/shared/api/link-refusals.ts';
import type { Body } from './schema.ts';

/** Returns the options of a request that a link cannot have. */
export function optionsWithoutLink(request: Body): readonly string[] {
  return [...linkRefusals.keys()].filter((name) => isGiven(request, name.split('.')));
}

/** Whether an object has a value at a path. */
function isGiven(value: unknown, [field, ...rest]: readonly string[]): boolean {
  if (field === undefined) return true;
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, field) &&
    isGiven(Reflect.get(value, field), rest)
  );
}

/**
 * Signs a link with the signing secret of a key, in the browser.
 *
 * @param expires Unix seconds
 */
export async function signLink(
  serviceUrl: string,
  request: Body,
  { keyId, secret, expires }: { readonly keyId: string; readonly secret: string; readonly expires: number },
): Promise<string> {
  const pairs = [['key', keyId], ['expires', String(expires)], ...parametersOf(request)] as [string, string][];
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
  return `${serviceUrl}/capture?${query}&signature=${[...signature].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function parametersOf(value: unknown, path = ''): [string, string][] {
  // The order of list items is significant.
  if (Array.isArray(value)) return [[path, JSON.stringify(value)]];
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  return Object.entries(value)
    .filter(([name]) => !(path === 'responseCache' && name === 'enabled'))
    .flatMap(([name, each]) => parametersOf(each, path === '' ? name : `${path}.${name}`));
}

/** RFC 3986: encodes all characters except letters, digits and -._~. */
const encode = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
