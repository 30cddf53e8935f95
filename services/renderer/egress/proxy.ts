import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { EgressFailure, type EgressFailureKind, type EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import type { Upstream } from '@webcapture/shared/egress/upstream.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { refusePages } from '@webcapture/shared/runtime/page-source.ts';
import { type Connection, SessionAgent, SessionConnections, SessionDialer, startTicker } from './connections.ts';
import { defaultLimits, type EgressLimits, type EgressStats, SessionCounters, type SessionLimit } from './counters.ts';
import { forward, maxHeaderSize, type ServingSession, tunnel } from './serve.ts';
import { type Target, targetOfUrl } from './target.ts';

export interface EgressProxyOptions {
  readonly policy: EgressPolicy;
  /** The proxy of the operator's network; undefined for direct connections. */
  readonly upstream?: Upstream | undefined;
  readonly log: { debug(fields: object, message: string): void };
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<EgressLimits>;
  /** Replaces the name lookup of the policy. */
  readonly lookup?: Lookup;
  /** Called for the first limit that each session reaches. */
  readonly onLimit?: (limit: SessionLimit) => void;
}

/** The only route from the browser to the network. */
export interface EgressProxy {
  /** Opens a session for one browser context. It takes at most 1 ms, so sessions can be opened in advance. */
  openSession(): Promise<ProxySession>;
  /** Closes every open session. */
  close(): Promise<void>;
}

/** Starts the proxy. It listens on loopback, at one port for each session. */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const sessions = new Set<ListeningSession>();
  const limits: EgressLimits = { ...defaultLimits, ...options.limits };
  const stopTicker = startTicker(Math.max(20, Math.min(250, limits.responseTimeoutMs / 4)), (now, lateMs) => {
    for (const session of sessions) session.cutStalled(now, lateMs);
  });
  return {
    async openSession() {
      const session = new ListeningSession({ ...options, limits }, sessions);
      await session.listen();
      sessions.add(session);
      return session;
    },
    async close() {
      stopTicker();
      await Promise.all([...sessions].map((session) => session.close()));
    },
  };
}

/** The route of one browser context to the network, through the proxy. */
export interface ProxySession {
  /** `http://127.0.0.1:<port>`, for the `proxy` option of the context. */
  readonly server: string;
  stats(): EgressStats;
  /** Whether the policy refused a request to the host and port of a URL. The page may have used a name, or a redirect. */
  wasBlocked(url: string): boolean;
  /** Returns how the last failed request to the host and port of a URL failed; undefined if none failed. */
  failureOf(url: string): EgressFailureKind | undefined;
  /** Sets the timeout for the start of a response, in place of `responseTimeoutMs`. */
  setResponseTimeout(ms: number): void;
  /**
   * Exempts the server of a URL from the response timeout, because the main document may take the time of the navigation. The exemption
   * applies to all requests to that host and port, for `ms` or until the returned function is called.
   */
  expectSlow(url: string, ms: number): () => void;
  /**
   * Closes the connections to the server of a URL that have carried no data for `silentMs` milliseconds. Only for callers that know that a
   * response inside a tunnel hangs. Returns the number of closed connections.
   */
  cutSilent(url: string, silentMs: number): number;
  /** Closes all connections immediately and refuses new ones until `resume` is called. */
  pause(): void;
  /** Continues after `pause` like a new session at the same port, without counters and resolved names. */
  resume(): void;
  /** Closes all connections immediately. Close the browser context first, because the port may be given to the next session. */
  close(): Promise<void>;
}

/** A listener at its own port, so that all requests to the port belong to one capture. */
class ListeningSession implements ProxySession {
  readonly #openTraffic: () => SessionTraffic;
  readonly #sessions: Set<ListeningSession>;
  readonly #clients = new Set<Socket>();
  readonly #http = this.#createServer();
  #traffic: SessionTraffic;
  #isPaused = false;
  #isClosed = false;
  #port = 0;

  /** @param sessions all open sessions; this session is removed from the set when it closes */
  constructor(options: EgressProxyOptions & { readonly limits: EgressLimits }, sessions: Set<ListeningSession>) {
    this.#sessions = sessions;
    const isSessionPort = (port: number) => [...sessions].some((session) => session.#port === port);
    this.#openTraffic = () => new SessionTraffic(options, isSessionPort);
    this.#traffic = this.#openTraffic();
  }

  /** @throws Error if the system assigns no port */
  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#http.once('error', reject).listen(0, '127.0.0.1', resolve);
    await promise;
    this.#port = (this.#http.address() as AddressInfo).port;
  }

  get server(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  stats(): EgressStats {
    return this.#traffic.stats();
  }

  wasBlocked(url: string): boolean {
    return this.failureOf(url) === 'blocked';
  }

  failureOf(url: string): EgressFailureKind | undefined {
    return this.#traffic.counters.failureOf(url);
  }

  setResponseTimeout(ms: number): void {
    this.#traffic.connections.responseTimeoutMs = ms;
  }

  expectSlow(url: string, ms: number): () => void {
    const target = targetOfUrl(url);
    return target ? this.#traffic.connections.expectSlow(target, ms) : () => undefined;
  }

  cutSilent(url: string, silentMs: number): number {
    const target = targetOfUrl(url);
    return target ? this.#traffic.connections.cutSilent(target, silentMs) : 0;
  }

  cutStalled(now: number, lateMs: number): void {
    this.#traffic.connections.cutStalled(now, lateMs);
  }

  pause(): void {
    this.#isPaused = true;
    this.#traffic.close();
    for (const client of this.#clients) client.destroy();
  }

  resume(): void {
    if (!this.#isPaused || this.#isClosed) return;
    this.#traffic = this.#openTraffic();
    this.#isPaused = false;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sessions.delete(this);
    this.pause();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#http.close(() => resolve());
    await promise;
  }

  #createServer(): http.Server {
    // The browser is the only client and ends with the capture, so no timeouts are needed.
    const options = { maxHeaderSize, requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 };
    const server = http.createServer(options, (request, response) => void forward(this.#traffic, request, response));
    server.on('connect', (request, client: Socket, head) => void tunnel(this.#traffic, request, client, head));
    // This also refuses requests from pages of other renderers on this machine.
    refusePages(server);
    server.on('connection', (client) => {
      if (this.#isPaused) {
        client.destroy();
        return;
      }
      this.#clients.add(client);
      client.once('close', () => this.#clients.delete(client));
    });
    return server;
  }
}

/** The traffic of a session. It lasts from the opening or resumption of the session until the session is paused or closed. */
class SessionTraffic implements ServingSession {
  readonly agent: SessionAgent;
  readonly counters = new SessionCounters();
  readonly connections: SessionConnections;
  readonly #dialer: SessionDialer;
  readonly #options: EgressProxyOptions & { readonly limits: EgressLimits };
  readonly #closed = new AbortController();
  #dueAt = Number.NEGATIVE_INFINITY;

  /** @param isSessionPort see the options of SessionDialer */
  constructor(
    options: EgressProxyOptions & { readonly limits: EgressLimits },
    isSessionPort: (port: number) => boolean,
  ) {
    const { policy, upstream, limits, lookup } = options;
    this.#options = options;
    this.connections = new SessionConnections(limits.responseTimeoutMs);
    this.#dialer = new SessionDialer({
      policy,
      upstream,
      lookup,
      limits,
      counters: this.counters,
      connections: this.connections,
      closed: this.#closed.signal,
      reached: (limit) => this.#reached(limit),
      isSessionPort,
    });
    this.agent = new SessionAgent(this.#dialer);
  }

  stats(): EgressStats {
    return this.counters.stats(this.connections.size);
  }

  close(): void {
    const closed = new EgressFailure('closed', 'the proxy session is closed');
    this.#closed.abort(closed);
    this.agent.destroy();
    this.connections.destroyAll(closed);
  }

  async pace(): Promise<void> {
    const { requestBurst, requestsPerSecond } = this.#options.limits;
    const now = performance.now();
    // Requests are due at a steady rate. Unused time is saved, up to a burst.
    this.#dueAt = Math.max(this.#dueAt, now - (requestBurst * 1000) / requestsPerSecond) + 1000 / requestsPerSecond;
    const waitMs = this.#dueAt - now;
    if (waitMs > 0 && !(await delay(waitMs, this.#closed.signal))) throw this.#closed.signal.reason;
  }

  dial(target: Target): Promise<Connection> {
    return this.#dialer.dial(target);
  }

  connectionOf(socket: Socket): Connection | undefined {
    return this.connections.of(socket);
  }

  failed(target: Target, failure: EgressFailure): void {
    if (failure.kind === 'closed') return;
    this.counters.failed(target, failure.kind);
    this.#options.log.debug(
      { host: target.host, port: target.port, kind: failure.kind, err: failure },
      'page request failed in the egress proxy',
    );
  }

  received(bytes: number): void {
    this.#transferred('download', bytes, this.#options.limits.maxDownloadBytes);
  }

  sent(bytes: number): void {
    this.#transferred('upload', bytes, this.#options.limits.maxUploadBytes);
  }

  #transferred(direction: 'download' | 'upload', bytes: number, max: number): void {
    if (!this.counters.transferred(direction, bytes, max)) return;
    this.#reached(direction);
    this.#dialer.stop(new EgressFailure('limit', `${direction} of more than ${max} bytes`));
  }

  #reached(limit: SessionLimit): void {
    if (this.counters.reached(limit)) this.#options.onLimit?.(limit);
  }
}
