import http, { type ClientRequestArgs } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { rangeOf } from '@webcapture/shared/egress/address-range.ts';
import { connect } from '@webcapture/shared/egress/connect.ts';
import type { Lookup, ResolvedAddress } from '@webcapture/shared/egress/lookup.ts';
import { EgressFailure, type EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { EgressLimits, SessionCounters, SessionLimit } from './counters.ts';
import { type Target, targetOfAuthority } from './target.ts';

/** A connection to a server, and since when it has been silent or owed an answer. */
export interface Connection {
  readonly target: Target;
  readonly socket: Socket;
  /** performance.now() of the last bytes in either direction. */
  lastByteAt: number;
  /** performance.now() since when the server owes the beginning of an answer. */
  awaitingSince: number | undefined;
}

/** The connections of a proxy session to servers, and the time-out of those that do not answer. */
export class SessionConnections {
  readonly #open = new Map<Socket, Connection>();
  /** Targets that may take longer, each until a moment of `performance.now()`. */
  readonly #slow = new Set<{ readonly key: string; readonly expiresAt: number }>();
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
    const exception = { key: target.key, expiresAt: performance.now() + ms };
    this.#slow.add(exception);
    return () => this.#slow.delete(exception);
  }

  /** Cuts the connections whose server has owed an answer for too long; `lateMs`, by which this check comes late, does not count. */
  cutStalled(now: number, lateMs: number): void {
    for (const exception of this.#slow) if (exception.expiresAt < now) this.#slow.delete(exception);
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

/**
 * Calls `onTick` every `intervalMs` until the returned function is called. It is told by how much it comes late: for so long it
 * was this process that stood still, or had no processor, and what others did meanwhile has not been seen yet.
 */
export function startTicker(intervalMs: number, onTick: (now: number, lateMs: number) => void): () => void {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const lateMs = Math.max(0, now - last - intervalMs);
    last = now;
    onTick(now, lateMs);
  }, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

interface DialerOptions {
  readonly policy: EgressPolicy;
  readonly lookup: Lookup | undefined;
  readonly limits: EgressLimits;
  readonly counters: SessionCounters;
  readonly connections: SessionConnections;
  /** Aborts when the session closes. */
  readonly closed: AbortSignal;
  /** Whether a session of this proxy listens at a port of this machine. */
  readonly isSessionPort: (port: number) => boolean;
  readonly reached: (limit: SessionLimit) => void;
}

/**
 * Makes the connections of a session. A name is resolved and checked once in the life of a session, and every connection to it
 * goes to those very addresses: a name server that changes its mind between the check and the connection, or between
 * two connections, changes nothing.
 */
export class SessionDialer {
  readonly #options: DialerOptions;
  readonly #addresses = new Map<string, Promise<readonly ResolvedAddress[]>>();
  #dialing = 0;
  #stopped: EgressFailure | undefined;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /** @throws EgressFailure */
  async dial(target: Target): Promise<Connection> {
    const { policy, limits, counters, connections, closed, reached, isSessionPort } = this.#options;
    if (this.#stopped) throw this.#stopped;
    if (!policy.allowsPort(target.port)) throw new EgressFailure('blocked', `port ${target.port} is refused`);
    if (connections.size + this.#dialing >= limits.maxConnections) {
      reached('connections');
      throw new EgressFailure('limit', `more than ${limits.maxConnections} connections`);
    }
    this.#dialing += 1;
    try {
      const addresses = await this.#resolve(target.host);
      closed.throwIfAborted();
      // Where an operator opens loopback, a page is still not to talk to its own proxy, or to that of another capture.
      if (isSessionPort(target.port) && addresses.some(({ address }) => isThisMachine(address))) {
        throw new EgressFailure('blocked', 'a port of the proxy itself');
      }
      const socket = await connect(addresses, target.port, limits.connectTimeoutMs, closed);
      if (this.#stopped) {
        socket.destroy();
        throw this.#stopped;
      }
      counters.connected();
      return connections.add(target, socket);
    } finally {
      this.#dialing -= 1;
    }
  }

  /** Cuts every connection and makes none any more. */
  stop(failure: EgressFailure): void {
    this.#stopped = failure;
    this.#options.connections.destroyAll(failure);
  }

  #resolve(host: string): Promise<readonly ResolvedAddress[]> {
    const known = this.#addresses.get(host);
    if (known) return known;
    const { policy, lookup, limits, closed } = this.#options;
    const options = { signal: closed, timeoutMs: limits.resolveTimeoutMs, ...(lookup && { lookup }) };
    const addresses = policy.resolve(host, options).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'URL_BLOCKED') {
        throw new EgressFailure('blocked', error.message, { cause: error.cause });
      }
      // A name server may have a bad moment; the next request to the name asks again.
      this.#addresses.delete(host);
      throw closed.aborted
        ? closed.reason
        : new EgressFailure('unresolved', 'the name has no address', { cause: error });
    });
    this.#addresses.set(host, addresses);
    return addresses;
  }
}

/** Any thrown value as a failure: what is not one yet is a connection that broke. */
export function toEgressFailure(thrown: unknown): EgressFailure {
  if (thrown instanceof EgressFailure) return thrown;
  return new EgressFailure('unreachable', 'the connection failed', { cause: thrown });
}

/** Linux takes 0.0.0.0 and :: for loopback. */
function isThisMachine(address: string): boolean {
  return ['loopback', 'unspecified'].includes(rangeOf(address)?.range ?? '');
}

/** Keeps the connections of a session for plain http, made by its dialer and by nothing else. */
export class SessionAgent extends http.Agent {
  readonly #dialer: SessionDialer;

  constructor(dialer: SessionDialer) {
    // Idle connections count towards `maxConnections`; a timeout of the agent ends none but those.
    super({ keepAlive: true, maxFreeSockets: 6, timeout: 4000 });
    this.#dialer = dialer;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    // On failure Node calls the callback with the error alone; its type does not know that.
    const done = callback as ((error: Error | null, stream?: Duplex) => void) | undefined;
    const target = targetOfAuthority(`${host}:${port}`);
    if (target === undefined) throw new TypeError('the agent was handed a request without a target');
    void this.#dial(target, done);
  }

  async #dial(target: Target, done: ((error: Error | null, stream?: Duplex) => void) | undefined): Promise<void> {
    const dialed = await this.#dialer.dial(target).catch(toEgressFailure);
    if (dialed instanceof EgressFailure) done?.(dialed);
    else done?.(null, dialed.socket);
  }
}
