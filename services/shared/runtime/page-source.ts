import type { Server } from 'node:net';

/**
 * Source address of connections to this machine that a page or webhook has caused. Linux lets a process bind every
 * address of 127.0.0.0/8, so a server can distinguish them from operators' connections, whichever process of this
 * service made them.
 */
export const pageSource = '127.87.67.1';

/** Has a server of this service's own, for operators or browsers, close the connections that pages have asked for. */
export function refusePages(server: Server): void {
  server.on('connection', (socket) => {
    // An IPv6 server sees it as ::ffff:127.87.67.1.
    if (socket.remoteAddress?.endsWith(pageSource)) socket.destroy();
  });
}
