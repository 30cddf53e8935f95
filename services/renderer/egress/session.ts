import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import { EgressFailure, type EgressFailureKind, type EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { type Connection, SessionAgent, SessionConnections, SessionDialer } from './connections.ts';
import { type EgressLimits, type EgressStats, SessionCounters, type SessionLimit } from './counters.ts';
import { forward, maxHeaderSize, type ServingSession, tunnel } from './serve.ts';
import { type Target, targetOfUrl } from './target.ts';

/** The way out of one browser context, through the proxy. */
export interface ProxySession {
  /** `http://127.0.0.1:<port>`, for the `proxy` option of the context. */
  readonly server: string;
  stats(): EgressStats;
  /** Whether the policy refused a request to the host and port of a URL: a name, or where a redirect led to. */
  wasBlocked(url: string): boolean;
  /** How the last failed request to the host and port of a URL failed; undefined when none did. */
  failureOf(url: string): EgressFailureKind | undefined;
  /** From now on a server has so many milliseconds to begin its answer, instead of `responseTimeoutMs`. */
  setResponseTimeout(ms: number): void;
  /**
   * Lets the server of a URL take longer to begin its answer: the main document may take as long as the navigation.
   * It holds for all requests to that host and port, for `ms` or until the returned function is called.
   */
  expectSlow(url: string, ms: number): () => void;
  /**
   * Cuts the connections to the server of a URL that have been silent for so many milliseconds, for who knows that a
   * response hangs inside of a tunnel. Returns how many were cut.
   */
  cutSilent(url: string, silentMs: number): number;
  /** Destroys every connection at once. Close the browser context first: the port may be given to the next session. */
  close(): Promise<void>;
}

/** The part of a pino logger that the proxy writes to. */
export interface EgressLog {
  debug(fields: object, message: string): void;
}

export interface SessionOptions {
  readonly policy: EgressPolicy;
  readonly limits: EgressLimits;
  readonly log: EgressLog;
  readonly lookup: Lookup | undefined;
  readonly onClose: (session: ListeningSession) => void;
  /** Whether a session listens at a port of this machine. */
  readonly isSessionPort: (port: number) => boolean;
  /** Hears of the first limit that is met. */
  readonly onLimit: (limit: SessionLimit) => void;
}

/** One listener on a port of its own, so that what arrives there belongs to one capture. */
export class ListeningSession implements ProxySession, ServingSession {
  readonly agent: SessionAgent;
  readonly #counters = new SessionCounters();
  readonly #connections: SessionConnections;
  readonly #dialer: SessionDialer;
  readonly #limits: EgressLimits;
  readonly #log: EgressLog;
  readonly #onClose: (session: ListeningSession) => void;
  readonly #onLimit: (limit: SessionLimit) => void;
  readonly #closed = new AbortController();
  readonly #clients = new Set<Socket>();
  readonly #http: http.Server;
  #port = 0;

  constructor({ policy, limits, log, lookup, onClose, onLimit, isSessionPort }: SessionOptions) {
    this.#limits = limits;
    this.#log = log;
    this.#onClose = onClose;
    this.#onLimit = onLimit;
    this.#connections = new SessionConnections(limits.responseTimeoutMs);
    this.#dialer = new SessionDialer({
      policy,
      lookup,
      limits,
      counters: this.#counters,
      connections: this.#connections,
      closed: this.#closed.signal,
      reached: (limit) => this.#reached(limit),
      isSessionPort,
    });
    this.agent = new SessionAgent(this.#dialer);
    this.#http = this.#createServer();
  }

  /** @throws Error when the system gives no port */
  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#http.once('error', reject).listen(0, '127.0.0.1', resolve);
    await promise;
    this.#port = (this.#http.address() as AddressInfo).port;
  }

  get port(): number {
    return this.#port;
  }

  get server(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  stats(): EgressStats {
    return this.#counters.stats(this.#connections.size);
  }

  wasBlocked(url: string): boolean {
    return this.failureOf(url) === 'blocked';
  }

  failureOf(url: string): EgressFailureKind | undefined {
    return this.#counters.failureOf(url);
  }

  setResponseTimeout(ms: number): void {
    this.#connections.responseTimeoutMs = ms;
  }

  expectSlow(url: string, ms: number): () => void {
    const target = targetOfUrl(url);
    return target ? this.#connections.expectSlow(target, ms) : () => undefined;
  }

  cutSilent(url: string, silentMs: number): number {
    const target = targetOfUrl(url);
    return target ? this.#connections.cutSilent(target, silentMs) : 0;
  }

  cutStalled(now: number, lateMs: number): void {
    this.#connections.cutStalled(now, lateMs);
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#onClose(this);
    const closed = new EgressFailure('closed', 'the proxy session is closed');
    this.#closed.abort(closed);
    this.agent.destroy();
    this.#connections.destroyAll(closed);
    for (const client of this.#clients) client.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#http.close(() => resolve());
    await promise;
  }

  dial(target: Target): Promise<Connection> {
    return this.#dialer.dial(target);
  }

  connectionOf(socket: Socket): Connection | undefined {
    return this.#connections.of(socket);
  }

  failed(target: Target, failure: EgressFailure): void {
    if (failure.kind === 'closed') return;
    this.#counters.failed(target, failure.kind);
    this.#log.debug({ host: target.host, port: target.port, kind: failure.kind, err: failure }, 'egress failed');
  }

  received(bytes: number): void {
    const before = this.#counters.bytesReceived;
    this.#counters.received(bytes);
    const max = this.#limits.maxDownloadBytes;
    if (before > max || before + bytes <= max) return;
    this.#reached('download');
    this.#dialer.stop(new EgressFailure('limit', `more than ${max} bytes downloaded`));
  }

  sent(bytes: number): void {
    const before = this.#counters.bytesSent;
    this.#counters.sent(bytes);
    const max = this.#limits.maxUploadBytes;
    if (before > max || before + bytes <= max) return;
    this.#reached('upload');
    this.#dialer.stop(new EgressFailure('limit', `more than ${max} bytes uploaded`));
  }

  #reached(limit: SessionLimit): void {
    if (this.#counters.reached(limit)) this.#onLimit(limit);
  }

  #createServer(): http.Server {
    // The browser is the only client and ends with the capture: it needs no time-outs.
    const options = { maxHeaderSize, requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 };
    const server = http.createServer(options, (request, response) => void forward(this, request, response));
    server.on('connect', (request, client: Socket, head) => void tunnel(this, request, client, head));
    server.on('connection', (client) => {
      this.#clients.add(client);
      client.once('close', () => this.#clients.delete(client));
    });
    return server;
  }
}
