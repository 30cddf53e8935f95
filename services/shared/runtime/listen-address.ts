import type { AddressInfo } from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

type Interfaces = NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'family'>[]>;

/**
 * Returns the address on which a server accepts the connections of all interfaces. `::` includes IPv4, but a host without IPv6 cannot bind
 * it. Node.js switches IPV6_V6ONLY off, so the setting `net.ipv6.bindv6only` has no effect.
 */
export function anyAddressOf(interfaces: Interfaces): '::' | '0.0.0.0' {
  const hasIPv6 = Object.values(interfaces).some((all) => all?.some(({ family }) => family === 'IPv6'));
  return hasIPv6 ? '::' : '0.0.0.0';
}

/** The default address of all servers on this host. */
export const anyAddress = anyAddressOf(networkInterfaces());

/** Description of {@link anyAddress} for the docs. */
export const anyAddressText = '`::`, which includes IPv4; `0.0.0.0` on hosts without IPv6';

/** Formats the address of a server as `192.0.2.1:80` or `[2001:db8::1]:80`. The path of a Unix socket stays unchanged. */
export function formatAddress(bound: Pick<AddressInfo, 'address' | 'port'> | string): string {
  if (typeof bound === 'string') return bound;
  const { address, port } = bound;
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}
