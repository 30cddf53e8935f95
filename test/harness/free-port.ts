import { createSocket } from 'node:dgram';
import { findPort, isPortTaken } from '../../deploy/local/ports.ts';

/** Below the ephemeral ports of operating systems, so that no outgoing connection takes a port that was found. */
const range = { first: 20_000, last: 31_999 };

/**
 * Returns a port on 127.0.0.1 that is free, and that no other test process receives while this one lives. A server can therefore
 * start later, and restart. The search starts at a random port, so that parallel test files rarely try the same one.
 */
export function freePort(): Promise<number> {
  return findPort(range, async (port) => (await claim(port)) && !(await isPortTaken(port, '127.0.0.1')));
}

/** Takes the UDP port with the same number, which has no other use, until this process ends; false if it is taken. */
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
