import { validateHeaderName, validateHeaderValue } from 'node:http';

/** RFC 9110, 7.6.1: they belong to one connection, not to the message. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The headers to pass on, in their order and spelling: all but those of the connection and those named in `drop`.
 * What Node's HTTP would throw on is left out, as a browser would pass over it.
 *
 * @param raw names and values in turn, as in IncomingMessage.rawHeaders
 */
export function endToEndHeaders(raw: readonly string[], drop: readonly string[] = []): string[] {
  const pairs = raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []));
  const dropped = new Set(drop);
  for (const [name, value] of pairs) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const option of value.split(',')) dropped.add(option.trim().toLowerCase());
  }
  return pairs
    .filter(([name, value]) => {
      const lower = name.toLowerCase();
      return !hopByHop.has(lower) && !dropped.has(lower) && isValid(name, value);
    })
    .flat();
}

function isValid(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
