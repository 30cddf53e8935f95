import { createServer } from 'node:net';
import process from 'node:process';

/** Below the ports that systems hand out for outgoing connections, so that none of those takes a port we have found. */
const range = { first: 20_000, last: 31_999 };

/**
 * Workers that run at the same time look for ports of their own: nobody takes one that was found but is not listened on yet,
 * or not right now.
 */
const shares = 8;

const handedOut = new Set<number>();

/**
 * A port that nobody listens on at 127.0.0.1, of the share of this worker. The start is random, so that two runs of tests
 * hardly ever look at the same one.
 */
export async function freePort(): Promise<number> {
  const count = Math.floor((range.last - range.first + 1) / shares);
  const first = range.first + (Number(process.env['VITEST_POOL_ID'] ?? 0) % shares) * count;
  const start = Math.floor(Math.random() * count);
  for (let offset = 0; offset < count; offset++) {
    const port = first + ((start + offset) % count);
    if (handedOut.has(port)) continue;
    // Before it is looked at: another call may be looking, too.
    handedOut.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${first} to ${first + count - 1} is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
