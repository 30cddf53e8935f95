import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { ShedReason } from './client-limits.ts';

/** Maximum number of unanswered requests on one connection. Few clients use pipelining. */
const maxUnanswered = 16;

/** Minimum time for which a new connection stays open, because a client may open hundreds of connections at the same time. */
const graceMs = 2000;

interface Connection {
  readonly address: string;
  /** Monotonic milliseconds. */
  readonly openedAt: number;
  /** Requests that are being answered. */
  readonly requests: Set<FastifyRequest>;
}

/**
 * Limits the connections of each address that have not carried a valid API key. Beyond the limit, the oldest connections
 * without a complete request are closed. New connections are not refused, so that other users of the address get in.
 */
export class Connections {
  readonly #maxPerAddress: number;
  readonly #count: (reason: ShedReason) => void;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Connections without a valid key by address, oldest first. */
  readonly #unauthenticated = new Map<string, Set<Socket>>();
  /** Addresses with a scheduled check. */
  readonly #scheduledChecks = new Set<string>();

  /** @param maxPerAddress 0 means unlimited; used for connections of a proxy */
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
      // Requests that were pipelined after the limit was reached are ignored.
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

  /** Stops reading from the connection of a request until the returned function is called. */
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
    const unauthenticated = this.#unauthenticated.get(address) ?? new Set();
    this.#unauthenticated.set(address, unauthenticated.add(socket));
    socket.once('close', () => this.#forget(socket, connection));
    if (unauthenticated.size > this.#maxPerAddress) this.#closeOldestSoon(address);
  }

  #closeOldestSoon(address: string): void {
    if (this.#scheduledChecks.has(address)) return;
    this.#scheduledChecks.add(address);
    setTimeout(() => {
      this.#scheduledChecks.delete(address);
      this.#closeOldest(this.#unauthenticated.get(address) ?? new Set());
      if ((this.#unauthenticated.get(address)?.size ?? 0) > this.#maxPerAddress) this.#closeOldestSoon(address);
    }, graceMs).unref();
  }

  #closeOldest(sockets: ReadonlySet<Socket>): void {
    let surplus = sockets.size - this.#maxPerAddress;
    for (const socket of sockets) {
      if (surplus <= 0) return;
      const connection = this.#connections.get(socket);
      if (connection === undefined || performance.now() - connection.openedAt < graceMs) return;
      // Connections with a complete request stay open until it is answered.
      if ([...connection.requests].some((request) => request.raw.complete || isOfHolder(request))) continue;
      this.#count('connections');
      socket.destroy();
      surplus--;
    }
  }

  #forget(socket: Socket, { address }: Connection): void {
    const unauthenticated = this.#unauthenticated.get(address);
    unauthenticated?.delete(socket);
    if (unauthenticated?.size === 0) this.#unauthenticated.delete(address);
  }
}

/** Whether the request contains a valid API key. A request with a signed link does not. */
const isOfHolder = ({ facts }: FastifyRequest) =>
  facts.isByLink !== true && (facts.caller !== undefined || facts.account !== undefined);

/** Providers assign at least a /64 of IPv6 addresses to each customer. */
const networkParts = 4;

/**
 * Returns the key under which a client is counted: an IPv4 address, or the /64 of an IPv6 address.
 *
 * @param ip from the socket or a trusted proxy; if a proxy sends anything else, all its clients share one key
 */
export function addressKey(ip: string): string {
  if (!ip.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(ip) ? ip : 'unknown';
  if (!ipaddr.IPv6.isValid(ip)) return 'unknown';
  const address = ipaddr.IPv6.parse(ip);
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  return `${address.parts
    .slice(0, networkParts)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
