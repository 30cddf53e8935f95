import http, { type IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Counter, type Registry } from 'prom-client';
import { SocksClient } from 'socks';
import { onAbort, withTimeout } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { ThrottledLogger } from '../runtime/throttled-logger.ts';
import { rangeOf } from './address-range.ts';
import { connect, maxAddresses } from './connect.ts';
import { createSystemLookup, type Lookup, type ResolvedAddress } from './lookup.ts';
import { EgressFailure, type EgressFailureKind } from './policy.ts';
import type { UpstreamProxy } from './upstream-config.ts';

/** Ways in which an upstream proxy fails, each with its kind of failure. */
const upstreamKinds = {
  unreachable: 'upstream-unreachable',
  authentication: 'upstream-authentication',
  refused: 'upstream-refused',
  timeout: 'upstream-timeout',
} as const satisfies Record<string, EgressFailureKind>;

const upstreamFailures = Object.keys(upstreamKinds) as (keyof typeof upstreamKinds)[];
type UpstreamFailureReason = keyof typeof upstreamKinds;

interface UpstreamOptions {
  /** Resolves the name of the proxy; by default the system's lookup. */
  readonly lookup?: Lookup;
  /** Called for each connection that fails because of the proxy. */
  readonly onFailure?: (reason: UpstreamFailureReason, failure: EgressFailure) => void;
}

/** Interval after which the name of the proxy is resolved again. */
const addressesTtlMs = 30_000;

/** Opens connections through an upstream proxy. Its own address is exempt from the egress policy, because the operator chose it. */
export class Upstream {
  readonly proxy: UpstreamProxy;
  readonly #lookup: Lookup;
  readonly #onFailure: UpstreamOptions['onFailure'];
  #addresses: { readonly found: readonly ResolvedAddress[]; readonly expiresAt: number } | undefined;

  constructor(proxy: UpstreamProxy, { lookup = createSystemLookup(), onFailure }: UpstreamOptions = {}) {
    this.proxy = proxy;
    this.#lookup = lookup;
    this.#onFailure = onFailure;
  }

  /** Whether a target is the proxy itself. `hosts` are a name or the addresses of a target. */
  async isItself(hosts: readonly string[], port: number, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const { host: own, port: ownPort } = this.proxy;
    if (port !== ownPort) return false;
    if (hosts.includes(own)) return true;
    // If the name of the proxy does not resolve, the connection fails in `connect`.
    const addresses = await this.#resolve(timeoutMs, signal).catch(() => []);
    const texts = new Set(addresses.map(({ address }) => canonical(address)));
    return hosts.some((host) => texts.has(canonical(host)));
  }

  /**
   * Connects to a target through the proxy. Tries the hosts in order, each with its share of the remaining time.
   *
   * @param hosts a name, or addresses without brackets
   * @throws EgressFailure `unreachable` if the proxy cannot reach the target, `upstream-…` if the proxy fails, or `closed` if the signal
   * aborts
   */
  async connect(hosts: readonly string[], port: number, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
    const deadline = performance.now() + timeoutMs;
    const tried = hosts.slice(0, maxAddresses);
    let failure = new EgressFailure('unreachable', 'there is no address');
    for (const [index, host] of tried.entries()) {
      const share = Math.max(1, (deadline - performance.now()) / (tried.length - index));
      try {
        return await this.#connectOnce(host, port, share, signal);
      } catch (error) {
        if (!(error instanceof EgressFailure)) throw error;
        failure = error;
        // Another address helps only if the proxy works but does not reach this address.
        if (error.kind !== 'unreachable' && error.kind !== 'upstream-timeout') break;
      }
    }
    const reason = upstreamFailures.find((one) => upstreamKinds[one] === failure.kind);
    if (reason !== undefined) this.#onFailure?.(reason, failure);
    throw failure;
  }

  async #connectOnce(host: string, port: number, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
    const deadline = performance.now() + timeoutMs;
    const socket = await this.#open(timeoutMs, signal);
    let ended: EgressFailure | undefined;
    const end = (failure: EgressFailure) => {
      ended ??= failure;
      socket.destroy();
    };
    // A late error without a listener would end the process.
    const ignore = () => undefined;
    socket.on('error', ignore);
    const timer = setTimeout(
      () =>
        end(
          new EgressFailure(
            'upstream-timeout',
            `the upstream proxy opened no connection within ${Math.round(timeoutMs)} ms`,
          ),
        ),
      Math.max(1, deadline - performance.now()),
    );
    const stopListening = onAbort(signal, () => end(new EgressFailure('closed', 'the request was given up')));
    try {
      const opened = await this.#handshake(socket, host, port, deadline);
      // The deadline may have passed at the same moment.
      if (ended !== undefined) throw ended;
      opened.off('error', ignore);
      return opened;
    } catch (error) {
      socket.destroy();
      throw ended ?? toUpstreamFailure(error);
    } finally {
      clearTimeout(timer);
      stopListening();
    }
  }

  /** Connects to the proxy. */
  async #open(timeoutMs: number, signal: AbortSignal): Promise<Socket> {
    try {
      return await connect(await this.#resolve(timeoutMs, signal), this.proxy.port, timeoutMs, signal, false);
    } catch (error) {
      if (error instanceof EgressFailure && error.kind === 'closed') throw error;
      signal.throwIfAborted();
      this.#addresses = undefined;
      throw new EgressFailure('upstream-unreachable', 'the upstream proxy cannot be reached', { cause: error });
    }
  }

  async #resolve(timeoutMs: number, signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
    const { host } = this.proxy;
    const family = isIP(host);
    if (family === 4 || family === 6) return [{ address: host, family }];
    const now = performance.now();
    if (this.#addresses !== undefined && this.#addresses.expiresAt > now) return this.#addresses.found;
    const found = await withTimeout((inner) => this.#lookup(host, inner), Math.ceil(timeoutMs), signal);
    this.#addresses = { found, expiresAt: now + addressesTtlMs };
    return found;
  }

  async #handshake(socket: Socket, host: string, port: number, deadline: number): Promise<Socket> {
    const { protocol, credentials } = this.proxy;
    if (protocol === 'http') return requestTunnel(socket, host, port, credentials);
    if (protocol === 'https') return requestTunnel(await this.#secured(socket), host, port, credentials);
    return requestSocks(socket, host, port, this.proxy, Math.max(1, deadline - performance.now()));
  }

  #secured(socket: Socket): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const { host } = this.proxy;
    // SNI does not allow IP addresses (RFC 6066). rejectUnauthorized is set explicitly, so that no environment variable can disable it.
    const names = isIP(host) === 0 ? { servername: host } : {};
    const secure = connectTls({ socket, host, ...names, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true });
    secure.once('secureConnect', () => resolve(secure));
    // The listener is never removed: a late error without a listener would end the process.
    secure.on('error', reject);
    secure.once('close', () => reject(new Error('the connection was closed during the TLS handshake')));
    return promise;
  }
}

const canonical = (host: string) => rangeOf(host)?.address.toString() ?? host;

function toUpstreamFailure(error: unknown): EgressFailure {
  if (error instanceof EgressFailure) return error;
  return new EgressFailure('upstream-unreachable', 'the upstream proxy did not answer as a proxy', { cause: error });
}

/**
 * Requests a tunnel of an HTTP proxy, also for plain requests of pages. The absolute form is not used for them. In that form, a proxy
 * replaces the Host header by the host of the request line (RFC 9112, 3.2.2), which would be an address. It may also send requests of
 * several captures over one connection.
 */
function requestTunnel(
  socket: Socket,
  host: string,
  port: number,
  credentials: UpstreamProxy['credentials'],
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const basic = Buffer.from(`${credentials?.user}:${credentials?.password}`).toString('base64');
  const request = http.request({
    method: 'CONNECT',
    path: authority,
    createConnection: () => socket,
    setHost: false,
    headers: { host: authority, ...(credentials && { 'proxy-authorization': `Basic ${basic}` }) },
  });
  request.once('connect', (response, _, head) => {
    const failure = failureOfStatus(response);
    if (failure !== undefined) return reject(failure);
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  request.on('error', reject);
  request.once('close', () => reject(new Error('the upstream proxy closed the connection without an answer')));
  request.end();
  return promise;
}

function failureOfStatus({ statusCode = 0 }: IncomingMessage): EgressFailure | undefined {
  if (statusCode >= 200 && statusCode <= 299) return undefined;
  if (statusCode === 407) {
    return new EgressFailure('upstream-authentication', 'the upstream proxy refuses the credentials (status 407)');
  }
  // A proxy that cannot reach the target answers with a 5xx status.
  if (statusCode >= 500)
    return new EgressFailure('unreachable', `the upstream proxy answered with status ${statusCode}`);
  return new EgressFailure('upstream-refused', `the upstream proxy refuses the target (status ${statusCode})`);
}

/** Requests a connection of a SOCKS5 proxy. */
async function requestSocks(
  socket: Socket,
  host: string,
  port: number,
  proxy: UpstreamProxy,
  timeoutMs: number,
): Promise<Socket> {
  const { user, password } = proxy.credentials ?? {};
  try {
    await SocksClient.createConnection({
      proxy: {
        host: proxy.host,
        port: proxy.port,
        type: 5,
        ...(user !== undefined && password !== undefined && { userId: user, password }),
      },
      command: 'connect',
      destination: { host, port },
      existing_socket: socket,
      timeout: timeoutMs,
    });
    return socket;
  } catch (error) {
    // The error of the library contains the password in its options. It must not become a cause, because causes are logged.
    throw failureOfSocks(error instanceof Error ? error.message : '');
  }
}

/** Messages of the library, which has no error codes. Tests check that they are still the same. */
const socksFailures: Readonly<Record<string, EgressFailureKind>> = {
  'Socks5 Authentication failed': 'upstream-authentication',
  'Received invalid Socks5 initial handshake (no accepted authentication type)': 'upstream-authentication',
  'Socks5 proxy rejected connection - NotAllowed': 'upstream-refused',
  'Socks5 proxy rejected connection - Failure': 'unreachable',
  'Socks5 proxy rejected connection - NetworkUnreachable': 'unreachable',
  'Socks5 proxy rejected connection - HostUnreachable': 'unreachable',
  'Socks5 proxy rejected connection - ConnectionRefused': 'unreachable',
  'Socks5 proxy rejected connection - TTLExpired': 'unreachable',
  'Socks5 proxy rejected connection - AddressNotSupported': 'unreachable',
};

function failureOfSocks(message: string): EgressFailure {
  const kind = socksFailures[message] ?? 'upstream-unreachable';
  return new EgressFailure(kind, `the upstream proxy failed: ${message}`);
}

/** Returns the upstream proxy of a service; undefined if there is none. Its failures are logged and counted. */
export function openUpstream(
  proxy: UpstreamProxy | undefined,
  { registry, log }: { readonly registry: Registry; readonly log: Pick<Logger, 'warn'> },
): Upstream | undefined {
  const count = createUpstreamMetrics(registry);
  if (proxy === undefined) return undefined;
  const throttled = new ThrottledLogger(log);
  const { host, port } = proxy;
  return new Upstream(proxy, {
    onFailure: (reason, failure) => {
      count(reason);
      throttled.warn({ host, port, reason, err: failure }, `connection through the upstream proxy failed (${reason})`);
    },
  });
}

/** Creates the metric of failures of the upstream proxy. Returns the function that counts one. */
export function createUpstreamMetrics(registry: Registry): (reason: UpstreamFailureReason) => void {
  const failures = new Counter({
    name: 'webcapture_upstream_proxy_failures_total',
    help: 'Connections that failed because of the upstream proxy, by reason: unreachable, authentication (the proxy refuses the credentials), refused (the proxy refuses the target) or timeout.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of upstreamFailures) failures.inc({ reason }, 0);
  return (reason) => failures.inc({ reason });
}
