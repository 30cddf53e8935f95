import type { Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import process from 'node:process';
import { rangeOf } from './address-range.ts';

/**
 * Where connections to this machine come from that a page or a webhook has asked for. Linux lets a process bind every address
 * of 127.0.0.0/8, so that a server tells them from those of operators, of whichever process of this service they are.
 */
const pageSource = '127.87.67.1';

/** The local address for a connection to an address on behalf of a page; undefined where the system chooses it. */
export function pageSourceFor(address: string): string | undefined {
  if (process.platform !== 'linux' || !isThisMachine(address)) return undefined;
  return address.includes(':') ? `::ffff:${pageSource}` : pageSource;
}

/** Has a server of this service's own, for operators or browsers, close the connections that pages have asked for. */
export function refusePages(server: Server): void {
  server.on('connection', (socket) => {
    // An IPv6 server sees it as ::ffff:127.87.67.1.
    if (socket.remoteAddress?.endsWith(pageSource)) socket.destroy();
  });
}

/** Whether it is an IPv4 address of this machine, in IPv6 notation too; Linux takes 0.0.0.0 for loopback. */
function isThisMachine(address: string): boolean {
  const known = rangeOf(address);
  if (known?.address.kind() !== 'ipv4') return false;
  const text = known.address.toString();
  if (['loopback', 'unspecified'].includes(known.range)) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((own) => own.address === text));
}
