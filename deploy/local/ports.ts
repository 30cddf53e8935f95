import { createServer } from 'node:net';

/**
 * Below the ports that operating systems give to outgoing connections (from 32768 on Linux, 49152 elsewhere): one of those could take
 * a port between the moment it was found free and the moment a service listens on it.
 */
const range = { first: 12_000, last: 19_999 };

/** A random port on which no process listens at the moment. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return findPort(range, async (port) => !(await isPortTaken(port, host)));
}

/**
 * Returns the first usable port of a range, from a random one on. Throws when no port is usable.
 *
 * @param first of the range, which includes `last`
 */
export async function findPort(
  { first, last }: { readonly first: number; readonly last: number },
  isUsable: (port: number) => Promise<boolean>,
): Promise<number> {
  const count = last - first + 1;
  const start = Math.floor(Math.random() * count);
  for (let offset = 0; offset < count; offset++) {
    const port = first + ((start + offset) % count);
    if (await isUsable(port)) return port;
  }
  throw new Error(`no port from ${first} to ${last} is free`);
}

/** Whether a process already listens on the port. Throws when the port cannot be used for another reason (address, permission). */
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
