import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Lookup } from '@webcapture/shared/egress/lookup.ts';
import type { EgressPolicy } from '@webcapture/shared/egress/policy.ts';
import { EgressFailure, type EgressFailureKind } from '@webcapture/shared/egress/egress-failure.ts';
import type { EgressLog } from './egress-log.ts';
import { forward, maxHeaderSize } from './forward.ts';
import { LaneAgent } from './lane-agent.ts';
import { LaneBooks, type EgressStats } from './lane-books.ts';
import { LaneConnections, type Connection } from './lane-connections.ts';
import { LaneDialler } from './lane-dialler.ts';
import type { LaneContext } from './lane-context.ts';
import type { EgressLimits, LaneLimit } from './limits.ts';
import { targetOfUrl, type Target } from './target.ts';
import { tunnel } from './tunnel.ts';

/** The way out of one browser context. */
export interface EgressLane {
  /** `http://127.0.0.1:<port>`, for the `proxy` option of the context. */
  readonly server: string;
  stats(): EgressStats;
  /** Whether the policy refused a request to the host and port of a URL: a name, or where a redirect led to. */
  wasBlocked(url: string): boolean;
  /** How the last failed request to the host and port of a URL failed; undefined when none did. */
  failureOf(url: string): EgressFailureKind | undefined;
  /** From now on a server has so many milliseconds to begin its answer, instead of the lane's limit. */
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
  /** Destroys every connection at once. Close the browser context first: the port may be given to the next lane. */
  close(): Promise<void>;
}

export interface LaneOptions {
  readonly policy: EgressPolicy;
  readonly limits: EgressLimits;
  readonly log: EgressLog;
  readonly lookup: Lookup | undefined;
  readonly onClose: (lane: Lane) => void;
  /** Whether a lane listens at a port of this machine. */
  readonly isLanePort: (port: number) => boolean;
  /** Hears of the first limit that is met. */
  readonly onLimit: (limit: LaneLimit) => void;
}

/** One listener on a port of its own, so that what arrives there belongs to one capture. */
export class Lane implements EgressLane, LaneContext {
  readonly agent: LaneAgent;
  readonly #books = new LaneBooks();
  readonly #connections: LaneConnections;
  readonly #dialler: LaneDialler;
  readonly #limits: EgressLimits;
  readonly #log: EgressLog;
  readonly #onClose: (lane: Lane) => void;
  readonly #onLimit: (limit: LaneLimit) => void;
  readonly #closed = new AbortController();
  readonly #clients = new Set<Socket>();
  readonly #http: http.Server;
  #port = 0;

  constructor({ policy, limits, log, lookup, onClose, onLimit, isLanePort }: LaneOptions) {
    this.#limits = limits;
    this.#log = log;
    this.#onClose = onClose;
    this.#onLimit = onLimit;
    this.#connections = new LaneConnections(limits.responseTimeoutMs);
    this.#dialler = new LaneDialler({
      policy,
      lookup,
      limits,
      books: this.#books,
      connections: this.#connections,
      closed: this.#closed.signal,
      reached: (limit) => this.#reached(limit),
      isLanePort,
    });
    this.agent = new LaneAgent(this.#dialler);
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
    return this.#books.stats(this.#connections.size);
  }

  wasBlocked(url: string): boolean {
    return this.failureOf(url) === 'blocked';
  }

  failureOf(url: string): EgressFailureKind | undefined {
    return this.#books.failureOf(url);
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
    const closed = new EgressFailure('closed', 'the lane is closed');
    this.#closed.abort(closed);
    this.agent.destroy();
    this.#connections.destroyAll(closed);
    for (const client of this.#clients) client.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#http.close(() => resolve());
    await promise;
  }

  dial(target: Target): Promise<Connection> {
    return this.#dialler.dial(target);
  }

  connectionOf(socket: Socket): Connection | undefined {
    return this.#connections.of(socket);
  }

  failed(target: Target, failure: EgressFailure): void {
    if (failure.kind === 'closed') return;
    this.#books.failed(target, failure.kind);
    this.#log.debug({ host: target.host, port: target.port, kind: failure.kind, err: failure }, 'egress failed');
  }

  received(bytes: number): void {
    const before = this.#books.bytesReceived;
    this.#books.received(bytes);
    const most = this.#limits.maxDownloadBytes;
    if (before > most || before + bytes <= most) return;
    this.#reached('download');
    this.#dialler.stop(new EgressFailure('limit', `more than ${most} bytes downloaded`));
  }

  sent(bytes: number): void {
    const before = this.#books.bytesSent;
    this.#books.sent(bytes);
    const most = this.#limits.maxUploadBytes;
    if (before > most || before + bytes <= most) return;
    this.#reached('upload');
    this.#dialler.stop(new EgressFailure('limit', `more than ${most} bytes uploaded`));
  }

  #reached(limit: LaneLimit): void {
    if (this.#books.reached(limit)) this.#onLimit(limit);
  }

  #createServer(): http.Server {
    // The browser is the only client and ends with the capture: no clock runs against it.
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
