import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Below the ports that systems hand out for outgoing connections, so that none of those takes a port we have found. */
const range = { first: 20_000, last: 31_999 };

/**
 * A port that nobody listens on at 127.0.0.1, and that no other process of the tests is given as long as this one lives:
 * what is to listen there may be started later, and stopped and started again. The start is random, so that test files that
 * run at the same time hardly ever look at the same one.
 */
export async function freePort(): Promise<number> {
  const count = range.last - range.first + 1;
  const start = Math.floor(Math.random() * count);
  for (let offset = 0; offset < count; offset++) {
    const port = range.first + ((start + offset) % count);
    if ((await claim(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no port from ${range.first} to ${range.last} is free`);
}

/** Takes the UDP port of the same number, which nobody has a use for, until this process ends; false when it is taken. */
function claim(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref();
      resolve(true);
    });
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
