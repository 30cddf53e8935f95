import { createSocket } from 'node:dgram';
import { findPort, isPortTaken } from '../../deploy/local/ports.ts';

/** Below the ports that systems hand out for outgoing connections, so that none of those takes a port we have found. */
const range = { first: 20_000, last: 31_999 };

/**
 * A port that nobody listens on at 127.0.0.1, and that no other process of the tests is given as long as this one lives:
 * what is to listen there may be started later, and stopped and started again. The start is random, so that test files that
 * run at the same time hardly ever look at the same one.
 */
export function freePort(): Promise<number> {
  return findPort(range, async (port) => (await claim(port)) && !(await isPortTaken(port, '127.0.0.1')));
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
