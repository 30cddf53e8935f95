import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { AuthorizationError, credsAuthenticator, type Status } from '@nats-io/nats-core';
import { compare, parseSemVer } from '@nats-io/nats-core/internal';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { NatsTls } from '../runtime/config.ts';
import { backoffMs, delay, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { type ConnectionProblem, connectionProblem, UnfitServerError } from './connection-problem.ts';
import { loginAuthenticator, LoginFileError, type NatsLoginFiles } from './login-files.ts';
import { ServerClock } from './server-clock.ts';

/** Minimum version of nats-server, for atomic batches, message TTL and schedules. */
export const minNatsVersion = '2.14.0';

/** One connection to NATS and its clients. */
export interface NatsSession {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** Prefix of the subjects on which this connection may receive replies. */
  readonly inboxPrefix: string;
  /** Prefix of the subjects of JetStream API requests, for requests that the clients do not support. */
  readonly apiPrefix: string;
  /**
   * Prefix of the subjects for writes to keys of buckets, and for subscriptions to writes on the same server. A leaf node needs another
   * prefix than `$KV`, which leaf nodes do not forward between domains.
   */
  readonly kvPrefix: string;
  /** The server's clock. `followServerClock` and `learn` keep it accurate. */
  readonly clock: ServerClock;
  /** Unix milliseconds by the server's clock. All times that processes compare use it. */
  readonly now: () => number;
  /** Whether the connection is currently open. */
  connected(): boolean;
  /** Calls the listener with every connection event until the returned function is called. `connected` is up to date in the listener. */
  onStatus(listener: (status: Status) => void): () => void;
}

export interface NatsOptions {
  /** Addresses, separated by commas; credentials in `nats://user:password@host:port` apply if no `user` is given. */
  readonly url: string;
  readonly user?: string;
  /** Password, or the content of the user's credentials file for servers in operator mode. */
  readonly password?: string;
  /** Files with the login, instead of `user` and `password`. They are read at each connection. */
  readonly loginFiles?: NatsLoginFiles;
  /** If undefined, the server decides whether TLS is used. Certificates are verified with the authorities that Node.js knows. */
  readonly tls?: NatsTls;
  /** The JetStream domain; by default that of the server. */
  readonly domain?: string;
  /** Name of the connection, which the server's monitoring shows. */
  readonly name: string;
  /**
   * Prefix of the subjects for replies to this connection: `_INBOX.<service>`. A user of the server may be permitted to
   * receive only the replies to its own service. By default `_INBOX`, as in the client.
   */
  readonly inboxPrefix?: string;
  /** The clock of the session. Default: a new clock. */
  readonly clock?: ServerClock;
  readonly log: Logger;
  /** Aborts the wait for a server that does not answer. */
  readonly signal: AbortSignal;
  /**
   * Called with the problem at each failed attempt of the first connection. If it is given, the caller reports the problem. Therefore a
   * server that is too old, or that refuses the user, is then retried like any other.
   */
  readonly onProblem?: (problem: ConnectionProblem) => void;
}

/**
 * Connects to NATS. Waits for the server without a time limit, and later reconnects without a limit. Throws if the server is older than
 * {@link minNatsVersion}, if the server refuses the user, or if `signal` aborts.
 */
export async function connectNats(options: NatsOptions): Promise<NatsSession> {
  const { log, signal, onProblem } = options;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      const nc = await connect({
        ...serversOf(options),
        ...(options.tls === undefined ? {} : { tls: tlsOptions(options.tls) }),
        name: options.name,
        ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
        timeout: 5000,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 250,
        reconnectJitter: 250,
        // Two pings without an answer, which take 6 s, reveal a half-open connection or a server that hangs.
        pingInterval: 2000,
        maxPingOut: 2,
        ignoreAuthErrorAbort: true,
        // With traces, the client would create an error with a stack for each request in advance.
        noAsyncTraces: true,
      });
      return await openSession(nc, options);
    } catch (error) {
      const problem = connectionProblem(error, options);
      const isRefusal = [UnfitServerError, AuthorizationError, LoginFileError].some((type) => error instanceof type);
      if (isRefusal && onProblem === undefined) throw new Error(problem.message, { cause: error });
      onProblem?.(problem);
      log.warn({ err: error, server: options.url, reason: problem.reason }, `waiting for NATS: ${problem.message}`);
      await delay(backoffMs(attempt, 200, 5000), signal);
    }
  }
}

/** First line of the credentials of a user of servers in operator mode: a JWT and the seed of its key. */
const credentialsBegin = '-----BEGIN NATS USER JWT-----';

/** Extracts the user from addresses. The client would parse the user as a port. All servers have the same user. */
function serversOf({ url, user, password, loginFiles, log }: NatsOptions) {
  const addresses = url.split(',').map((address) => /^\s*(\w+:\/\/)?(?:([^@/]*)@)?(.*?)\s*$/.exec(address) ?? []);
  const servers = addresses.map(([, scheme = '', , host = '']) => scheme + host);
  if (loginFiles !== undefined) return { servers, authenticator: loginAuthenticator(loginFiles, log) };
  if (user !== undefined && password?.startsWith(credentialsBegin) === true) {
    // The client requires a line break at the end, which variables often lose.
    return { servers, authenticator: credsAuthenticator(Buffer.from(`${password}\n`)) };
  }
  if (user !== undefined) return { servers, user, pass: password ?? '' };
  const login = addresses.find(([, , named]) => named !== undefined)?.[2];
  if (login === undefined) return { servers };
  const [name = '', ...rest] = login.split(':');
  return { servers, user: decodeURIComponent(name), pass: decodeURIComponent(rest.join(':')) };
}

/** Converts to the client's options. Options that are not set must be absent. */
function tlsOptions({ serverName, ...rest }: NatsTls) {
  // The client passes unknown options to Node.js.
  return { ...rest, ...(serverName === undefined ? {} : { servername: serverName }) };
}

async function openSession(
  nc: NatsConnection,
  {
    log,
    clock = new ServerClock(),
    inboxPrefix = '_INBOX',
    domain,
  }: Pick<NatsOptions, 'log' | 'clock' | 'inboxPrefix' | 'domain'>,
): Promise<NatsSession> {
  const version = nc.info?.version ?? 'unknown';
  if (olderThan(version, minNatsVersion)) {
    await nc.close();
    throw new UnfitServerError(
      `the NATS server is version ${version}; webcapture needs ${minNatsVersion} or newer. Upgrade nats-server.`,
    );
  }
  // The check would request account info, which fails on a server that is still recovering its streams. Later errors are more specific.
  const options = { checkAPI: false, ...(domain === undefined ? {} : { domain }) };
  const js = jetstream(nc, options);
  const jsm = await jetstreamManager(nc, options);
  let connected = true;
  const listeners = new Set<(status: Status) => void>();
  const followStatus = async () => {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect') {
        connected = false;
        log.warn('the connection to NATS was lost; reconnecting');
      } else if (status.type === 'reconnect') {
        connected = true;
        log.info('reconnected to NATS');
      }
      for (const listener of listeners) listener(status);
    }
    connected = false;
  };
  void followStatus();
  return {
    nc,
    js,
    jsm,
    inboxPrefix,
    apiPrefix: domain === undefined ? '$JS.API' : `$JS.${domain}.API`,
    kvPrefix: domain === undefined ? '$KV' : `$JS.${domain}.API.$KV`,
    clock,
    now: clock.now,
    connected: () => connected,
    onStatus: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Whether version `a` is older than `b`. An invalid version counts as older. */
export function olderThan(a: string, b: string): boolean {
  try {
    return compare(parseSemVer(a), parseSemVer(b)) < 0;
  } catch {
    return true;
  }
}

/** Timeout of the check whether the server answers. */
const reachTimeoutMs = 3000;

/** Whether the server answers now. Detects a broken connection earlier than the pings do. Never throws. */
export async function reachesNats({ nc }: Pick<NatsSession, 'nc'>): Promise<boolean> {
  try {
    await withDeadline(nc.rtt(), reachTimeoutMs, 'reaching NATS');
    return true;
  } catch {
    return false;
  }
}

/** Timeout of sending pending messages. If the server can be reached, this takes little time. */
const drainMs = 5000;

/**
 * Sends pending messages and closes the connection. If there is no server, closes it immediately, because a drain would wait for a server
 * without a limit. Never throws.
 */
export async function closeNats(session: NatsSession): Promise<void> {
  try {
    if (session.connected()) await withDeadline(session.nc.drain(), drainMs, 'draining the connection to NATS');
  } catch {
    // The connection was lost meanwhile.
  }
  await session.nc.close();
}
