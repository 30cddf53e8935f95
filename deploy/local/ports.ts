import { createServer } from 'node:net';

/**
 * Ports below those that operating systems assign to outgoing connections (from 32768 on Linux, 49152 elsewhere). An outgoing
 * connection could otherwise take a free port before a service listens on it.
 */
const range = { first: 12_000, last: 19_999 };

/** Returns a random port on which no process listens at the moment. */
export function freePort(host = '127.0.0.1'): Promise<number> {
  return findPort(range, async (port) => !(await isPortTaken(port, host)));
}

/** Returns the given port if no process listens on it at the moment, otherwise a free one. */
export async function keptPort(former: number | undefined, host = '127.0.0.1'): Promise<number> {
  return former === undefined || (await isPortTaken(former, host)) ? freePort(host) : former;
}

/**
 * Returns the first usable port of a range, starting at a random one. Throws if no port is usable.
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

/** Whether a process already listens on the port. Throws if the port is unusable for another reason (address, permission). */
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
