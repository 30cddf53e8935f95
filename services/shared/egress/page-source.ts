import { networkInterfaces } from 'node:os';
import process from 'node:process';
import { pageSource } from '../runtime/page-source.ts';
import { rangeOf } from './address-range.ts';

/** Returns the local address for a connection on behalf of a page; undefined if the system chooses it. */
export function pageSourceFor(address: string): string | undefined {
  if (process.platform !== 'linux' || !isThisMachine(address)) return undefined;
  return address.includes(':') ? `::ffff:${pageSource}` : pageSource;
}

/** Whether it is an IPv4 address of this machine, also in IPv6 notation. On Linux, 0.0.0.0 is loopback as well. */
function isThisMachine(address: string): boolean {
  const known = rangeOf(address);
  if (known?.address.kind() !== 'ipv4') return false;
  const text = known.address.toString();
  if (['loopback', 'unspecified'].includes(known.range)) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((own) => own.address === text));
}
