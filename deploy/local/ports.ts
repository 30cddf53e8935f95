import { createServer } from 'node:net';

/**
 * Below the ports that operating systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere): one of those could take
 * a port between the moment it was found free and the moment a service listens on it.
 */
const range = { first: 12_000, last: 19_999 };

/** A port that nobody listens on right now, chosen at random. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const count = range.last - range.first + 1;
  const start = Math.floor(Math.random() * count);
  for (let offset = 0; offset < count; offset++) {
    const port = range.first + ((start + offset) % count);
    if (!(await isPortTaken(port, host))) return port;
  }
  throw new Error(`all ports from ${range.first} to ${range.last} are in use`);
}

/** Whether somebody listens on it already. Throws when the port cannot be had for another reason (the address, a right). */
export function isPortTaken(port: number, host: string): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(true);
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
  });
}
