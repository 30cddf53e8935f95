import { isIP } from 'node:net';

/** The host of an address bar: an IP address in canonical form, or a name in lower case without its trailing dot. */
export type Host =
  { readonly kind: 'address'; readonly address: string } | { readonly kind: 'name'; readonly name: string };

/**
 * Reads a host the way a browser does, so that nothing means one thing here and another to the one who connects:
 * `0x7f.1`, `2130706433`, `127。0。0。1`, `[::ffff:7f00:1]` and `127.0.0.1.` are addresses, not names.
 *
 * @param text without port; IPv6 with or without brackets
 * @returns undefined when it is no host: empty labels, zone ids, a number that is no address, user info, a port
 */
export function parseHost(text: string): Host | undefined {
  // What the URL parser strips or takes for the end of the host must not get that far.
  if (/[\s\p{Cc}/?#@\\]/u.test(text)) return undefined;
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  if (!bracketed.startsWith('[') && bracketed.includes(':')) return undefined;
  if (bracketed.startsWith('[') && !bracketed.endsWith(']')) return undefined;

  if (!URL.canParse(`http://${bracketed}/`)) return undefined;
  const { hostname } = new URL(`http://${bracketed}/`);
  if (hostname.startsWith('[')) return { kind: 'address', address: hostname.slice(1, -1) };
  if (isIP(hostname) === 4) return { kind: 'address', address: hostname };

  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  return isName(name) ? { kind: 'name', name } : undefined;
}

function isName(name: string): boolean {
  const labels = name.split('.');
  // A resolver may still take a numeric last label for an address in one of the old notations.
  if (/^(\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')) return false;
  return name.length <= 253 && labels.every((label) => label.length >= 1 && label.length <= 63);
}

const localNames = new Set([
  'localhost',
  'localhost4',
  'localhost6',
  'localhost.localdomain',
  'localhost4.localdomain4',
  'localhost6.localdomain6',
  'ip6-localhost',
  'ip6-loopback',
]);

/**
 * Whether a name means this machine whatever a resolver says: RFC 6761 for `localhost` and all below it, and the names
 * that hosts files of the usual systems carry.
 */
export function isLocalName(name: string): boolean {
  return localNames.has(name) || name.endsWith('.localhost');
}

/** What a local name means. It is never asked for in DNS. */
export const loopbackAddresses = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
] as const;
