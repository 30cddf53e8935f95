import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { withLoginOf } from './nats-users.ts';

/** A proxy in front of a server that can delay traffic, or drop what is sent to the server. */
export class StallingProxy implements Disposable {
  readonly url: string;
  /** Data that was sent to the server and dropped. */
  readonly lost: Buffer[] = [];
  readonly #close: () => void;
  readonly #held: (() => void)[] = [];
  readonly #sockets = new Set<Socket>();
  #mode: 'pass' | 'hold' | 'lose' = 'pass';

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.#close = close;
  }

  static async to(target: string): Promise<StallingProxy> {
    const { hostname, port } = new URL(target);
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      proxy.#pipe(client, upstream, true);
      proxy.#pipe(upstream, client, false);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: own } = server.address() as AddressInfo;
    const proxy = new StallingProxy(withLoginOf(`nats://127.0.0.1:${own}`, target), () => server.close());
    return proxy;
  }

  /** Holds traffic in both directions until `release`. */
  hold(): void {
    this.#mode = 'hold';
  }

  /** Drops what is sent to the server from now on. The client sends whole commands, so the connection stays consistent. */
  lose(): void {
    this.#mode = 'lose';
  }

  release(): void {
    this.#mode = 'pass';
    for (const send of this.#held.splice(0)) send();
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#close();
  }

  #pipe(from: Socket, to: Socket, isToServer: boolean): void {
    this.#sockets.add(from);
    from.on('data', (chunk) => {
      if (this.#mode === 'lose' && isToServer) this.lost.push(chunk);
      else if (this.#mode === 'hold') this.#held.push(() => to.write(chunk));
      else to.write(chunk);
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
