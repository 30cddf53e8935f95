import type { Socket } from 'node:net';
import { EgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import type { Target } from './target.ts';

/** A connection to a server, and since when it has been silent or owed an answer. */
export interface Connection {
  readonly target: Target;
  readonly socket: Socket;
  /** performance.now() of the last bytes in either direction. */
  lastByteAt: number;
  /** performance.now() since when the server owes the beginning of an answer. */
  awaitingSince: number | undefined;
}

/** The connections of a lane to servers, and the clock that runs against those that do not answer. */
export class LaneConnections {
  readonly #open = new Map<Socket, Connection>();
  readonly #slow = new Set<{ readonly key: string; readonly until: number }>();
  /** For a server to begin its answer. */
  responseTimeoutMs: number;

  constructor(responseTimeoutMs: number) {
    this.responseTimeoutMs = responseTimeoutMs;
  }

  get size(): number {
    return this.#open.size;
  }

  add(target: Target, socket: Socket): Connection {
    const connection = { target, socket, lastByteAt: performance.now(), awaitingSince: undefined };
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    return connection;
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** Lets a server take longer than others, until the time is up or the returned function is called. */
  expectSlow(target: Target, ms: number): () => void {
    const exception = { key: target.key, until: performance.now() + ms };
    this.#slow.add(exception);
    return () => this.#slow.delete(exception);
  }

  /** Cuts the connections whose server has owed an answer for too long; the time that this look is late does not count. */
  cutStalled(now: number, lateMs: number): void {
    for (const exception of this.#slow) if (exception.until < now) this.#slow.delete(exception);
    const slow = new Set([...this.#slow].map(({ key }) => key));
    for (const connection of this.#open.values()) {
      if (connection.awaitingSince === undefined) continue;
      connection.awaitingSince = Math.min(now, connection.awaitingSince + lateMs);
      const isInTime = now - connection.awaitingSince < this.responseTimeoutMs;
      if (!isInTime && !slow.has(connection.target.key)) cut(connection);
    }
  }

  /** Cuts the connections to a server that have been silent for so long; returns how many. */
  cutSilent(target: Target, silentMs: number): number {
    const before = performance.now() - silentMs;
    const silent = [...this.#open.values()].filter(
      (connection) => connection.target.key === target.key && connection.lastByteAt <= before,
    );
    silent.forEach(cut);
    return silent.length;
  }

  destroyAll(failure: EgressFailure): void {
    for (const socket of this.#open.keys()) socket.destroy(failure);
  }
}

function cut(connection: Connection): void {
  // Once is enough: a socket takes a moment to close.
  connection.awaitingSince = undefined;
  connection.lastByteAt = Number.POSITIVE_INFINITY;
  connection.socket.destroy(new EgressFailure('response-timeout', 'the answer did not begin in time'));
}
