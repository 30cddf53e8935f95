import { createServer } from 'node:net';

/** A port that nobody listens on right now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  return listenOnce(0, host);
}

/** Whether somebody listens on it already. Throws when the port cannot be had for another reason (the address, a right). */
export async function isPortTaken(port: number, host: string): Promise<boolean> {
  try {
    await listenOnce(port, host);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return true;
    throw error;
  }
}

function listenOnce(port: number, host: string): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}
