import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { withLoginOf } from '../../../harness/nats-users.ts';

/** A connection to a server that can be cut. After a cut, no data passes, but the sockets stay open. */
export class TcpGate {
  readonly url: string;
  readonly #close: () => void;
  readonly #sockets: Set<Socket>;
  #open = true;

  private constructor(url: string, sockets: Set<Socket>, close: () => void) {
    this.url = url;
    this.#sockets = sockets;
    this.#close = close;
  }

  static async to(target: string): Promise<TcpGate> {
    const { hostname, port } = new URL(target);
    const sockets = new Set<Socket>();
    let gate: TcpGate | null = null;
    const server = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from);
        from.on('data', (chunk) => gate?.isOpen === true && to.write(chunk));
        from.on('error', () => to.destroy());
        from.on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: own } = server.address() as AddressInfo;
    gate = new TcpGate(withLoginOf(`nats://127.0.0.1:${own}`, target), sockets, () => server.close());
    return gate;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  cut(): void {
    this.#open = false;
  }

  /** Lets data pass again, and closes the old connections, which have lost data. */
  restore(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#open = true;
  }

  close(): void {
    this.restore();
    this.#close();
  }
}
