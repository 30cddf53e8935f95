import { jetstream, type JetStreamClient, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { AuthorizationError, credsAuthenticator, type Status } from '@nats-io/nats-core';
import { compare, parseSemVer } from '@nats-io/nats-core/internal';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { NatsTls } from '../runtime/config.ts';
import { backoffMs, delay, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { type ConnectionProblem, connectionProblem, UnfitServerError } from './connection-problem.ts';
import { ServerClock } from './server-clock.ts';

/** The oldest nats-server that has all we rely on: atomic batches, message TTL and schedules. */
export const minNatsVersion = '2.14.0';

/** One connection, with the clients that everything else is built from. */
export interface NatsSession {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** What the subjects begin with that this connection may hear answers on. */
  readonly inboxPrefix: string;
  /** What the subjects of requests to JetStream begin with, for those that its clients do not make. */
  readonly apiPrefix: string;
  /**
   * What the subjects begin with by which keys of buckets are written, and writes on the same server are heard. Leaf nodes do not
   * pass on `$KV` between two domains.
   */
  readonly kvPrefix: string;
  /** The server's clock; see `followServerClock` and `learn` for what keeps it right. */
  readonly clock: ServerClock;
  /** Unix milliseconds by the server's clock: by it go all times that two processes compare. */
  readonly now: () => number;
  /** Whether the connection is open now. */
  connected(): boolean;
  /**
   * Calls the listener with every connection event, after `connected` reflects it, until the returned function is
   * called.
   */
  onStatus(listener: (status: Status) => void): () => void;
}

export interface NatsOptions {
  /** Addresses, separated by commas; `nats://user:password@host:port` signs in where no `user` is given. */
  readonly url: string;
  readonly user?: string;
  /** Or the content of the file with the user's credentials, for servers in operator mode. */
  readonly password?: string;
  /** Undefined: as the server has it; the certificate is then checked against the authorities that Node.js knows. */
  readonly tls?: NatsTls;
  /** The JetStream domain; by default that of the server. */
  readonly domain?: string;
  /** Shown by the server's monitoring. */
  readonly name: string;
  /**
   * Where answers to this connection's requests come in: `_INBOX.<service>`. A user of the server may be allowed to hear
   * the answers to its own service alone. By default the client's `_INBOX`.
   */
  readonly inboxPrefix?: string;
  /** Default: a new clock. */
  readonly clock?: ServerClock;
  readonly log: Logger;
  /** Ends the wait for a server that does not answer. */
  readonly signal: AbortSignal;
  /**
   * Called at each failed attempt of the first connection with its problem. With it, a server that is too old or
   * refuses the user is retried like any other, because the caller reports the problem.
   */
  readonly onProblem?: (problem: ConnectionProblem) => void;
}

/**
 * Connects, waiting for the server as long as it takes, and reconnects for ever afterwards.
 * Throws when the server is older than {@link minNatsVersion}, when it refuses the user, or when `signal` aborts.
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
        // A half-open connection, or a server that hangs, is noticed when two pings have no answer: within 6 s.
        pingInterval: 2000,
        maxPingOut: 2,
        ignoreAuthErrorAbort: true,
        // Each request would build an error with its stack ahead of need.
        noAsyncTraces: true,
      });
      return await openSession(nc, options);
    } catch (error) {
      const problem = connectionProblem(error, options);
      const isRefusal = error instanceof UnfitServerError || error instanceof AuthorizationError;
      if (isRefusal && onProblem === undefined) throw new Error(problem.message, { cause: error });
      onProblem?.(problem);
      log.warn({ err: error, server: options.url, reason: problem.reason }, `waiting for NATS: ${problem.message}`);
      await delay(backoffMs(attempt, 200, 5000), signal);
    }
  }
}

/** How the credentials of a user of servers in operator mode begin: a JWT and the seed of its key. */
const credentialsBegin = '-----BEGIN NATS USER JWT-----';

/** The client takes no user from an address, and would read a port out of one. One user is for all servers. */
function serversOf({ url, user, password }: Pick<NatsOptions, 'url' | 'user' | 'password'>) {
  const addresses = url.split(',').map((address) => /^\s*(\w+:\/\/)?(?:([^@/]*)@)?(.*?)\s*$/.exec(address) ?? []);
  const servers = addresses.map(([, scheme = '', , host = '']) => scheme + host);
  if (user !== undefined && password?.startsWith(credentialsBegin) === true) {
    // The client wants the line break at the end, which variables often lose.
    return { servers, authenticator: credsAuthenticator(Buffer.from(`${password}\n`)) };
  }
  if (user !== undefined) return { servers, user, pass: password ?? '' };
  const login = addresses.find(([, , named]) => named !== undefined)?.[2];
  if (login === undefined) return { servers };
  const [name = '', ...rest] = login.split(':');
  return { servers, user: decodeURIComponent(name), pass: decodeURIComponent(rest.join(':')) };
}

/** As the client takes them: what is not set must not be there. */
function tlsOptions({ serverName, ...rest }: NatsTls) {
  // The client hands on what it does not know itself to Node.js.
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
  // The check asks for account info, which fails on a server that is still recovering its streams; every use says more.
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

/** Whether the version `a` comes before `b`; what is no version counts as older. */
export function olderThan(a: string, b: string): boolean {
  try {
    return compare(parseSemVer(a), parseSemVer(b)) < 0;
  } catch {
    return true;
  }
}

/** An answer that takes longer is none. */
const reachTimeoutMs = 3000;

/** Whether the server answers now: a cut is noticed here sooner than by the pings of the connection. Never throws. */
export async function reachesNats({ nc }: Pick<NatsSession, 'nc'>): Promise<boolean> {
  try {
    await withDeadline(nc.rtt(), reachTimeoutMs, 'reaching NATS');
    return true;
  } catch {
    return false;
  }
}

/** Pending messages are sent almost at once if the server is reachable. */
const drainMs = 5000;

/**
 * Sends what waits to be sent and closes the connection. Without a server it closes at once: a drain would wait for one, as long
 * as it takes. Never throws.
 */
export async function closeNats(session: NatsSession): Promise<void> {
  try {
    if (session.connected()) await withDeadline(session.nc.drain(), drainMs, 'draining the connection to NATS');
  } catch {
    // It went away meanwhile.
  }
  await session.nc.close();
}
