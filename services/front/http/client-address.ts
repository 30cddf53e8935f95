import ipaddr from 'ipaddr.js';

/** Providers assign at least a /64 of IPv6 addresses to each customer. */
const networkParts = 4;

/**
 * Returns the key under which a client is counted: an IPv4 address, or the /64 of an IPv6 address.
 *
 * @param ip from the socket or a trusted proxy; if a proxy sends anything else, all its clients share one key
 */
export function addressKey(ip: string): string {
  if (!ip.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(ip) ? ip : 'unknown';
  if (!ipaddr.IPv6.isValid(ip)) return 'unknown';
  const address = ipaddr.IPv6.parse(ip);
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  return `${address.parts
    .slice(0, networkParts)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
