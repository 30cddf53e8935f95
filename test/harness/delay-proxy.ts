import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { freePort } from './free-port.ts';

export interface DelayProxyOptions {
  readonly upstream: { readonly host: string; readonly port: number };
  /** Each direction takes half of it; 0 forwards immediately. */
  readonly roundTripMs: number;
}

/** A proxy in front of a server with a configurable delay, which can partition or cut connections. */
export interface DelayProxy extends AsyncDisposable {
  readonly port: number;
  /** A URL for NATS clients. */
  readonly url: string;
  /** Number of open connections. */
  connections(): number;
  /** Starts a partition: data in either direction is held, and connections stay open. */
  pause(): void;
  /** Ends the partition: the held data arrives in order. */
  resume(): void;
  /** Resets every connection, and refuses new ones until `mend`. */
  cut(): void;
  mend(): Promise<void>;
  /** Affects data sent from now on. */
  setRoundTrip(ms: number): void;
}

/** State that all connections of a proxy share. */
interface Line {
  oneWayMs: number;
  isPaused: boolean;
}

/** Data that is due within this time is forwarded now, because timers are not more exact. */
const timerErrorMs = 0.5;

/** Maximum number of buffered bytes for a slow receiver; beyond it, the sender has to wait, as without a proxy. */
const maxUntakenBytes = 16 * 1024 * 1024;

export async function startDelayProxy({ upstream, roundTripMs }: DelayProxyOptions): Promise<DelayProxy> {
  const line: Line = { oneWayMs: roundTripMs / 2, isPaused: false };
  const pairs = new Set<Pair>();
  const port = await freePort();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const pair = new Pair(client, upstream, line);
    pairs.add(pair);
    void pair.closed.then(() => pairs.delete(pair));
  });
  const listen = async () => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const reset = () => {
    for (const pair of pairs) pair.reset();
  };
  await listen();
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    connections: () => pairs.size,
    pause: () => {
      line.isPaused = true;
      for (const pair of pairs) pair.update();
    },
    resume: () => {
      line.isPaused = false;
      for (const pair of pairs) pair.update();
    },
    cut: () => {
      server.close();
      reset();
    },
    mend: async () => {
      if (!server.listening) await listen();
    },
    setRoundTrip: (ms) => {
      line.oneWayMs = ms / 2;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      reset();
      await closed;
    },
  };
}

/** A client's connection and the matching connection to the server. */
class Pair {
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #line: Line;
  readonly #upstream: Socket;
  readonly #directions: readonly Direction[];
  readonly #connectAt: number;
  readonly #address: { readonly host: string; readonly port: number };
  #connecting: NodeJS.Timeout | undefined;
  #isConnected = false;

  constructor(client: Socket, address: { readonly host: string; readonly port: number }, line: Line) {
    this.#client = client;
    this.#address = address;
    this.#line = line;
    this.#upstream = new Socket({ allowHalfOpen: true });
    this.#directions = [new Direction(client, this.#upstream, line), new Direction(this.#upstream, client, line)];
    // The client is connected immediately. Over a real distance, the handshake takes one and a half round trips until the server
    // knows of the connection.
    this.#connectAt = performance.now() + 3 * line.oneWayMs;
    this.closed = Promise.all(
      [client, this.#upstream].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    ).then(() => undefined);
    client.once('close', () => this.#giveUpUnconnected());
    this.update();
  }

  /** Checks again whether the line is paused. */
  update(): void {
    for (const direction of this.#directions) direction.update();
    clearTimeout(this.#connecting);
    if (this.#line.isPaused || this.#isConnected) return;
    const waitMs = this.#connectAt - performance.now();
    if (waitMs <= 0) this.#connect();
    else this.#connecting = setTimeout(() => this.#connect(), waitMs);
  }

  reset(): void {
    clearTimeout(this.#connecting);
    for (const direction of this.#directions) direction.drop();
    this.#client.resetAndDestroy();
    this.#upstream.resetAndDestroy();
  }

  #connect(): void {
    this.#isConnected = true;
    this.#upstream.setNoDelay(true);
    this.#upstream.connect(this.#address);
    for (const direction of this.#directions) direction.update();
  }

  /** Handles a client that disconnected before the server knew of it. */
  #giveUpUnconnected(): void {
    clearTimeout(this.#connecting);
    if (!this.#isConnected) this.#upstream.destroy();
  }
}

/** An item in transit: bytes, the end of a direction, or the loss of the connection. */
type Item = { readonly dueAt: number } & (
  { readonly kind: 'bytes'; readonly bytes: Buffer } | { readonly kind: 'end' } | { readonly kind: 'loss' }
);

/**
 * Forwards data from one socket to another in order, each piece at its due time. One timer waits for the oldest piece, and all
 * due pieces are forwarded when it fires, so that pieces do not queue for separate timers under load.
 */
class Direction {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #line: Line;
  readonly #underWay: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isFull = false;

  constructor(from: Socket, to: Socket, line: Line) {
    this.#from = from;
    this.#to = to;
    this.#line = line;
    from.on('data', (bytes: Buffer) => this.#send({ kind: 'bytes', bytes }));
    from.once('end', () => this.#send({ kind: 'end' }));
    // Without a listener, the error would end the process. The close event that follows informs the other side.
    from.on('error', () => undefined);
    from.once('close', () => this.#send({ kind: 'loss' }));
    to.on('drain', () => {
      this.#isFull = false;
      this.update();
    });
  }

  update(): void {
    // During a partition, the sender's buffers hold new data, and the sender blocks when they are full.
    if (this.#line.isPaused || this.#isFull) this.#from.pause();
    else this.#from.resume();
    this.#deliver();
  }

  drop(): void {
    clearTimeout(this.#timer);
    this.#underWay.length = 0;
  }

  #send(item: { kind: 'bytes'; bytes: Buffer } | { kind: 'end' } | { kind: 'loss' }): void {
    // After the delay gets shorter, new data does not overtake earlier data.
    const dueAt = Math.max(this.#underWay.at(-1)?.dueAt ?? 0, performance.now() + this.#line.oneWayMs);
    this.#underWay.push({ ...item, dueAt });
    if (this.#underWay.length === 1) this.#deliver();
  }

  /** Forwards the data that is due, and sets the timer for the rest. */
  #deliver(): void {
    clearTimeout(this.#timer);
    // A socket that is not connecting yet accepts no data.
    if (this.#line.isPaused || (this.#to.pending && !this.#to.connecting)) return;
    const now = performance.now() + timerErrorMs;
    let count = 0;
    for (; count < this.#underWay.length; count++) {
      const item = this.#underWay[count];
      if (item === undefined || item.dueAt > now) break;
      this.#handOver(item);
    }
    this.#underWay.splice(0, count);
    const next = this.#underWay[0];
    if (next !== undefined)
      this.#timer = setTimeout(() => this.#deliver(), Math.max(1, next.dueAt - performance.now()));
  }

  #handOver(item: Item): void {
    if (this.#to.destroyed) return;
    switch (item.kind) {
      case 'bytes':
        this.#to.write(item.bytes);
        if (this.#to.writableLength > maxUntakenBytes && !this.#isFull) {
          this.#isFull = true;
          this.#from.pause();
        }
        return;
      case 'end':
        this.#to.end();
        return;
      case 'loss':
        this.#to.destroy();
    }
  }
}
