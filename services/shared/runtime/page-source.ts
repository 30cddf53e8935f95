import type { AddressInfo, Server } from 'node:net';

/**
 * Source address of connections to this machine on behalf of pages and webhooks. Linux lets a process bind every address of 127.0.0.0/8. By
 * this address, a server can distinguish these connections from those of operators, whichever process makes them.
 */
export const pageSource = '127.87.67.1';

/** Ports of the servers of this process that refuse pages. */
const refusingPorts = new Set<number>();

/** Whether a server of this process listens on the port and refuses pages. */
export const refusesPages = (port: number): boolean => refusingPorts.has(port);

/** Makes a server of this service, for operators or browsers, close connections on behalf of pages. Call it before `listen`. */
export function refusePages(server: Server): void {
  server.on('connection', (socket) => {
    // On an IPv6 server, the address is ::ffff:127.87.67.1.
    if (socket.remoteAddress?.endsWith(pageSource)) socket.destroy();
  });
  server.on('listening', () => {
    const { port } = server.address() as AddressInfo;
    refusingPorts.add(port);
    server.once('close', () => refusingPorts.delete(port));
  });
}
