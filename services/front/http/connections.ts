import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressKey } from './client-address.ts';
import type { ShedReason } from './client-limits.ts';

/** Requests of one connection that are not answered yet. Hardly any client sends the next one before the answer. */
const maxUnanswered = 16;

/** Time that a connection has to bring a request, because a client may open hundreds at once. */
const graceMs = 2000;

interface Connection {
  readonly address: string;
  /** Monotonic milliseconds. */
  readonly openedAt: number;
  /** Requests that are being answered. */
  readonly requests: Set<FastifyRequest>;
}

/**
 * Limits the connections of each address that have not brought a valid API key: beyond the limit, the oldest ones
 * without a complete request are closed. None is refused, so that other users of the address get in.
 */
export class Connections {
  readonly #maxPerAddress: number;
  readonly #count: (reason: ShedReason) => void;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Those without a key, oldest first. */
  readonly #strangers = new Map<string, Set<Socket>>();
  /** Addresses that will be looked at. */
  readonly #crowded = new Set<string>();

  /** @param maxPerAddress 0: any number, for those of a proxy */
  constructor(maxPerAddress: number, count: (reason: ShedReason) => void) {
    this.#maxPerAddress = maxPerAddress;
    this.#count = count;
  }

  watch(app: FastifyInstance): void {
    app.server.on('connection', (socket) => this.#open(socket));
    app.addHook('onRequest', async (request, reply) => {
      const { socket } = request.raw;
      const connection = this.#connections.get(socket);
      if (connection === undefined) return;
      const { requests } = connection;
      // What was sent behind a request that broke the bound is not looked at.
      if (socket.destroyed) return reply.hijack();
      if (requests.size >= maxUnanswered) {
        this.#count('pipelining');
        socket.destroy();
        return reply.hijack();
      }
      requests.add(request);
      reply.raw.once('close', () => {
        requests.delete(request);
        if (isOfHolder(request)) this.#forget(socket, connection);
      });
    });
  }

  /** Reads nothing more from the connection of a request, until what it returns is called. */
  pause({ raw: { socket } }: FastifyRequest): () => void {
    if (!this.#connections.has(socket)) return () => undefined;
    socket.pause();
    return () => void socket.resume();
  }

  #open(socket: Socket): void {
    const address = addressKey(socket.remoteAddress ?? '');
    const connection = { address, openedAt: performance.now(), requests: new Set<FastifyRequest>() };
    this.#connections.set(socket, connection);
    if (this.#maxPerAddress === 0) return;
    const strangers = this.#strangers.get(address) ?? new Set();
    this.#strangers.set(address, strangers.add(socket));
    socket.once('close', () => this.#forget(socket, connection));
    if (strangers.size > this.#maxPerAddress) this.#closeOldestSoon(address);
  }

  #closeOldestSoon(address: string): void {
    if (this.#crowded.has(address)) return;
    this.#crowded.add(address);
    setTimeout(() => {
      this.#crowded.delete(address);
      this.#closeOldest(this.#strangers.get(address) ?? new Set());
      if ((this.#strangers.get(address)?.size ?? 0) > this.#maxPerAddress) this.#closeOldestSoon(address);
    }, graceMs).unref();
  }

  #closeOldest(strangers: ReadonlySet<Socket>): void {
    let surplus = strangers.size - this.#maxPerAddress;
    for (const socket of strangers) {
      if (surplus <= 0) return;
      const connection = this.#connections.get(socket);
      if (connection === undefined || performance.now() - connection.openedAt < graceMs) return;
      // What is being answered is not cut off.
      if ([...connection.requests].some((request) => request.raw.complete || isOfHolder(request))) continue;
      this.#count('connections');
      socket.destroy();
      surplus--;
    }
  }

  #forget(socket: Socket, { address }: Connection): void {
    const strangers = this.#strangers.get(address);
    strangers?.delete(socket);
    if (strangers?.size === 0) this.#strangers.delete(address);
  }
}

/** Whether the request has a valid API key. A user of a signed link holds none. */
const isOfHolder = ({ facts }: FastifyRequest) =>
  facts.isByLink !== true && (facts.caller !== undefined || facts.account !== undefined);
