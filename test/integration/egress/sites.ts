import { once } from 'node:events';
import http, { type RequestListener, type Server } from 'node:http';
import { Worker } from 'node:worker_threads';
import net, { type AddressInfo, type Socket } from 'node:net';

/** The only loopback address that the tests allow, as if it were public. Linux responds on all of 127.0.0.0/8. */
export const publicAddress = '127.0.0.2';

/** The address that must not be reached. */
export const innerAddress = '127.0.0.1';

export interface Site {
  readonly port: number;
  /** Number of accepted connections. */
  readonly connections: () => number;
  close(): Promise<void>;
}

/** Serves http on a loopback address. */
export async function startSite(
  address: string,
  listener: RequestListener,
  prepare?: (server: Server) => void,
  port = 0,
) {
  // Kept connections have no timeout, as a test may take long.
  const server = http.createServer({ keepAliveTimeout: 0 }, listener);
  prepare?.(server);
  return listen(server, address, port);
}

/** Serves raw TCP on a loopback address. */
export async function startTcp(address: string, onConnection: (socket: Socket) => void): Promise<Site> {
  return listen(net.createServer({ allowHalfOpen: true }, onConnection), address);
}

export async function listen(server: net.Server, address: string, port = 0): Promise<Site> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(port, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Listens, but never accepts a connection: its queue is full, so that new connections get no response. */
export async function startDeaf(address: string, atPort = 0): Promise<{ port: number; close(): Promise<void> }> {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const server = require('node:net').createServer().listen(workerData.port, workerData.address, 1, () => {
       parentPort.postMessage(server.address().port);
       // Blocks the thread before it looks for connections again, so it accepts none.
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
     });`,
    { eval: true, workerData: { address, port: atPort } },
  );
  const [port] = (await once(worker, 'message')) as [number];
  const queued = Array.from({ length: 4 }, () => net.connect(port, address).on('error', () => undefined));
  await once(queued[0] ?? worker, 'connect');
  return {
    port,
    async close() {
      for (const socket of queued) socket.destroy();
      await worker.terminate();
    },
  };
}
