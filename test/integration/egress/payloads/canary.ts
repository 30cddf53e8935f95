import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Socket } from 'node:net';
import { publicAddress } from '../sites.ts';
import { tlsFixture } from '../tls-fixture.ts';

/** A target that must not be reached: one TCP and one UDP port, on every address of this machine, IPv4 and IPv6. */
export interface Canary {
  readonly port: number;
  /** Descriptions of connections and datagrams that arrived, except at the address that the tests open. */
  readonly touches: readonly string[];
  /** Number of connections at the address that the tests open. */
  readonly opened: () => number;
  /** First segments of the requested paths, over http and https. */
  readonly asked: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Starts the canary. It accepts http and TLS on the same port. The path of a request identifies its payload. */
export async function startCanary(): Promise<Canary> {
  const touches: string[] = [];
  const asked = new Set<string>();
  const sockets = new Set<Socket>();
  let opened = 0;
  const serve: http.RequestListener = (request, response) => {
    asked.add((request.url ?? '').split('/')[1] ?? '');
    // The response allows everything, so that the rules of the browser do not hide a request that gets out.
    response.setHeader('access-control-allow-origin', request.headers.origin ?? '*');
    response.setHeader('access-control-allow-headers', '*');
    response.setHeader('access-control-allow-methods', 'PUT');
    response.end('secret');
  };
  const plain = http.createServer(serve);
  const secure = https.createServer(tlsFixture, serve);
  for (const server of [plain, secure]) {
    server.on('upgrade', (request: http.IncomingMessage, socket: Socket) => {
      asked.add((request.url ?? '').split('/')[1] ?? '');
      socket.destroy();
    });
  }
  const tcp = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    if (socket.localAddress?.endsWith(publicAddress)) opened += 1;
    else touches.push(`tcp to ${socket.localAddress}`);
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      (first[0] === 22 ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  tcp.listen(0, '::');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp6', (message) => touches.push(`udp, ${message.length} bytes`)).bind(port, '::');
  await once(udp, 'listening');
  return {
    port,
    touches,
    asked,
    opened: () => opened,
    async close() {
      for (const socket of sockets) socket.destroy();
      udp.close();
      tcp.close();
      await once(tcp, 'close');
    },
  };
}
