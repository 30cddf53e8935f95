import http, { type ClientRequestArgs } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { EgressFailure, type EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { connectAlong, type Route, routeTo } from '@webcapture/shared/egress/route.ts';
import { isThisMachine } from '@webcapture/shared/egress/this-machine.ts';
import type { Upstream } from '@webcapture/shared/egress/upstream.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { EgressLimits, SessionCounters, SessionLimit } from './counters.ts';
import { type Target, targetOfAuthority } from './target.ts';

/** A connection to a server, with the times of its last data and of an outstanding response. */
export interface Connection {
  readonly target: Target;
  readonly socket: Socket;
  /** performance.now() at the last bytes in either direction. */
  lastByteAt: number;
  /** performance.now() at the start of the wait for a response; undefined if no response is outstanding. */
  awaitingSince: number | undefined;
}

/** The connections of a proxy session to servers, with the timeout of those that do not respond. */
export class SessionConnections {
  readonly #open = new Map<Socket, Connection>();
  /** Servers with a longer timeout, each until `expiresAt` on the clock of `performance.now()`. */
  readonly #slow = new Set<{ readonly key: string; readonly expiresAt: number }>();
  /** Timeout for the start of a response, in milliseconds. */
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

  /** Exempts a server from the timeout for `ms`, or until the returned function is called. */
  expectSlow(target: Target, ms: number): () => void {
    const exception = { key: target.key, expiresAt: performance.now() + ms };
    this.#slow.add(exception);
    return () => this.#slow.delete(exception);
  }

  /**
   * Closes the connections whose server exceeded the response timeout. `lateMs`, the delay of this check, does not count against the
   * servers.
   */
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

  /** Closes the connections to a server that have carried no data for `silentMs`. Returns their number. */
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
  // The field is cleared so that the connection is cut only once, because its socket takes a moment to close.
  connection.awaitingSince = undefined;
  connection.lastByteAt = Number.POSITIVE_INFINITY;
  connection.socket.destroy(new EgressFailure('response-timeout', 'the response did not start in time'));
}

/**
 * Calls `onTick` every `intervalMs` until the returned function is called. `lateMs` is the delay of the call. For that time this process
 * was paused or had no processor, and it has not yet read the data that arrived meanwhile.
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
  readonly upstream: Upstream | undefined;
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
 * Opens the connections of a session. A name is resolved and checked once per session, and all connections use the checked addresses.
 * Therefore it has no effect if a name server changes its answer between the check and a connection, or between two connections. If the
 * upstream proxy resolves names, only addresses and names of this machine are checked.
 */
export class SessionDialer {
  readonly #options: DialerOptions;
  readonly #routes = new Map<string, Promise<Route>>();
  #dialing = 0;
  #stopped: EgressFailure | undefined;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /** @throws EgressFailure */
  async dial(target: Target): Promise<Connection> {
    const { policy, upstream, limits, counters, connections, closed, reached, isSessionPort } = this.#options;
    if (this.#stopped) throw this.#stopped;
    if (!policy.allowsPort(target.port)) throw new EgressFailure('blocked', `port ${target.port} is refused`);
    if (connections.size + this.#dialing >= limits.maxConnections) {
      reached('connections');
      throw new EgressFailure('limit', `more than ${limits.maxConnections} connections`);
    }
    this.#dialing += 1;
    try {
      const route = await this.#routeTo(target.host);
      closed.throwIfAborted();
      // Even if an operator allows loopback, a page must not reach its own proxy session or that of another capture.
      if (isSessionPort(target.port) && route.addresses.some(({ address }) => isThisMachine(address))) {
        throw new EgressFailure('blocked', 'a port of the proxy itself');
      }
      const times = { timeoutMs: limits.connectTimeoutMs, signal: closed };
      const socket = await connectAlong(route, target.port, upstream, times);
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

  /** Closes all connections and refuses new ones. */
  stop(failure: EgressFailure): void {
    this.#stopped = failure;
    this.#options.connections.destroyAll(failure);
  }

  #routeTo(host: string): Promise<Route> {
    const known = this.#routes.get(host);
    if (known) return known;
    const { policy, upstream, lookup, limits, closed } = this.#options;
    const options = { signal: closed, timeoutMs: limits.resolveTimeoutMs, ...(lookup && { lookup }) };
    const route = routeTo(host, { policy, upstream }, options).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'URL_BLOCKED') {
        throw new EgressFailure('blocked', error.message, { cause: error.cause });
      }
      // The name server may have failed only temporarily, so the next request resolves the name again.
      this.#routes.delete(host);
      throw closed.aborted
        ? closed.reason
        : new EgressFailure('unresolved', 'the name has no address', { cause: error });
    });
    this.#routes.set(host, route);
    return route;
  }
}

/** Converts a thrown value to a failure. An unknown error counts as a broken connection. */
export function toEgressFailure(thrown: unknown): EgressFailure {
  if (thrown instanceof EgressFailure) return thrown;
  return new EgressFailure('unreachable', 'the connection failed', { cause: thrown });
}

/** Keeps the plain HTTP connections of a session. Only the session's dialer opens connections. */
export class SessionAgent extends http.Agent {
  readonly #dialer: SessionDialer;

  constructor(dialer: SessionDialer) {
    // The timeout closes only idle connections, which would otherwise count towards `maxConnections`.
    super({ keepAlive: true, maxFreeSockets: 6, timeout: 4000 });
    this.#dialer = dialer;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    // On failure Node calls the callback with only the error, which its type does not allow.
    const done = callback as ((error: Error | null, stream?: Duplex) => void) | undefined;
    const target = targetOfAuthority(`${host}:${port}`);
    if (target === undefined) throw new TypeError('the agent received a request without a target');
    void this.#dial(target, done);
  }

  async #dial(target: Target, done: ((error: Error | null, stream?: Duplex) => void) | undefined): Promise<void> {
    const dialed = await this.#dialer.dial(target).catch(toEgressFailure);
    if (dialed instanceof EgressFailure) done?.(dialed);
    else done?.(null, dialed.socket);
  }
}
