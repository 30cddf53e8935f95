import type { Server } from 'node:net';

/**
 * Where connections to this machine come from that a page or a webhook has asked for. Linux lets a process bind every address
 * of 127.0.0.0/8, so that a server tells them from those of operators, of whichever process of this service they are.
 */
export const pageSource = '127.87.67.1';

/** Has a server of this service's own, for operators or browsers, close the connections that pages have asked for. */
export function refusePages(server: Server): void {
  server.on('connection', (socket) => {
    // An IPv6 server sees it as ::ffff:127.87.67.1.
    if (socket.remoteAddress?.endsWith(pageSource)) socket.destroy();
  });
}
