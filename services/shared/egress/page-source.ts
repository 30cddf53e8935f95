import process from 'node:process';
import { pageSource, refusesPages } from '../runtime/page-source.ts';
import { rangeOf } from './address-range.ts';
import { isThisMachine } from './this-machine.ts';

/** Returns the local address for a connection on behalf of a page; undefined if the system chooses it. */
export function pageSourceFor(address: string): string | undefined {
  if (process.platform !== 'linux' || !isIPv4(address) || !isThisMachine(address)) return undefined;
  return address.includes(':') ? `::ffff:${pageSource}` : pageSource;
}

/**
 * Whether a server of this process at the address and port refuses pages but cannot distinguish them: IPv6 has only one loopback
 * address, so connections of pages have the source of all others.
 */
export const isRefusedTarget = (address: string, port: number): boolean =>
  refusesPages(port) && !isIPv4(address) && isThisMachine(address);

/** Whether it is an IPv4 address, also in IPv6 notation. */
const isIPv4 = (address: string) => rangeOf(address)?.address.kind() === 'ipv4';
