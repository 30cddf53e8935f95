import ipaddr from 'ipaddr.js';

/** The first 64 bits of an IPv6 address are one customer's: he may use all addresses below them. */
const networkParts = 4;

/**
 * What a client's address is counted under: an IPv4 address, or the /64 of an IPv6 address.
 *
 * @param ip as the socket or a trusted proxy says; of a proxy that says something else, all clients are one
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
