import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { EgressFailure, type EgressPolicy, parseHost } from '@webcapture/shared/egress/policy.ts';
import { connectAlong, type Egress, routeTo } from '@webcapture/shared/egress/route.ts';
import { delay, withTimeout } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { SignedEvent } from './event.ts';

/** Result of one delivery attempt. */
export type AttemptResult =
  | { readonly delivered: true; readonly status: number }
  | {
      readonly delivered: false;
      /** HTTP status of the answer; absent if there was no answer. */
      readonly status?: number;
      /** Message for the account holder. */
      readonly reason: string;
      /** Error for the log. */
      readonly cause?: unknown;
      /** Whether the receiver has answered that it wants no further attempts. */
      readonly gone: boolean;
      /** Set if the attempt was skipped. */
      readonly isSkipped?: true;
    };

export interface SendOptions extends Egress {
  readonly policy: EgressPolicy;
  /** Aborts the attempt, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Time limit from the DNS lookup to the response headers. Default: 10,000. */
  readonly timeoutMs?: number;
  /** PEM certificate authorities that replace the default ones. */
  readonly ca?: string;
}

/**
 * Sends an event to an http or https address in one attempt, over a new connection. The name is resolved once; the egress policy must allow
 * all of its addresses, and the connection uses one of them. If the upstream proxy resolves names, the proxy does this instead. Redirects
 * are not followed, because their targets are not checked.
 */
export async function sendEvent(address: string, event: SignedEvent, options: SendOptions): Promise<AttemptResult> {
  const { signal, timeoutMs = 10_000 } = options;
  let tooLate = false;
  const task = (limit: AbortSignal) => {
    limit.addEventListener('abort', () => (tooLate = true), { once: true });
    return attempt(address, event, options, { signal: limit, deadline: performance.now() + timeoutMs });
  };
  try {
    return judge(await withTimeout(task, timeoutMs, signal));
  } catch (error) {
    signal?.throwIfAborted();
    const reason = (tooLate ? null : reasonOf(error)) ?? `no answer within ${timeoutMs / 1000} s`;
    return { delivered: false, reason, cause: error, gone: false };
  }
}

/** Returns the status of the answer. */
async function attempt(
  address: string,
  event: SignedEvent,
  { policy, upstream, ca }: SendOptions,
  { signal, deadline }: { signal: AbortSignal; deadline: number },
): Promise<number> {
  const url = new URL(address);
  policy.checkLiteral(url);
  const isSecure = url.protocol === 'https:';
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const route = await routeTo(url.hostname, { policy, upstream }, { signal });
  const socket = await connectAlong(route, port, upstream, { timeoutMs: deadline - performance.now(), signal });
  const cut = () => socket.destroy();
  signal.addEventListener('abort', cut, { once: true });
  try {
    signal.throwIfAborted();
    return await post(isSecure ? await secured(socket, url, ca) : socket, url, event);
  } finally {
    signal.removeEventListener('abort', cut);
    socket.destroy();
  }
}

function secured(socket: Socket, url: URL, ca: string | undefined) {
  const host = parseHost(url.hostname);
  if (host === undefined) throw new DeliveryError('the host of the address is invalid');
  return host.kind === 'name' ? startTls(socket, host.name, true, ca) : startTls(socket, host.address, false, ca);
}

function judge(status: number): AttemptResult {
  if (status >= 200 && status <= 299) return { delivered: true, status };
  const note = status >= 300 && status <= 399 ? ': redirects are not followed' : '';
  return { delivered: false, status, reason: `status ${status}${note}`, gone: status === 410 };
}

/** Returns the reason of a failure; null if the attempt timed out. */
function reasonOf(error: unknown): string | null {
  if (error instanceof DeliveryError) return error.message;
  if (error instanceof ServiceError) {
    return error.code === 'URL_BLOCKED' ? 'refused by the egress policy' : 'the name does not resolve';
  }
  if (!(error instanceof EgressFailure)) return 'the event could not be sent';
  if (error.kind === 'connect-timeout' || error.kind === 'upstream-timeout') return null;
  if (error.kind === 'blocked') return 'refused by the egress policy';
  if (error.kind === 'upstream-refused') return 'the upstream proxy of this service refuses the host';
  if (error.kind.startsWith('upstream-')) return 'the upstream proxy of this service failed';
  return codeOf(error.cause) === 'ECONNREFUSED' ? 'connection refused' : 'the host is unreachable';
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined);

/** Limits of size and time for reading the body of an answer. The body is ignored. */
const maxBodyBytes = 16 * 1024;
const maxBodyMs = 250;

/**
 * Posts an event over an open connection. Returns the status of the answer when its body has ended or reached a limit, so that a short
 * answer is not cut off. The call ends when the connection closes; the caller destroys the connection.
 *
 * @throws DeliveryError
 */
async function post(connection: Duplex, url: URL, { headers, body }: SignedEvent): Promise<number> {
  const answer = await exchange(connection, url, { headers, body });
  await takeIn(answer);
  return answer.statusCode ?? 0;
}

function exchange(connection: Duplex, url: URL, { headers, body }: SignedEvent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request({
    createConnection: () => connection,
    method: 'POST',
    path: url.pathname + url.search,
    headers: { host: url.host, ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
  });
  outgoing.once('response', resolve);
  // A connection that is being destroyed may emit late errors, which also need a listener.
  outgoing.on('error', (cause) => reject(new DeliveryError(describe(cause), { cause })));
  outgoing.once('close', () => reject(new DeliveryError('the connection was closed without an answer')));
  outgoing.end(body);
  return promise;
}

function describe(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return code.startsWith('HPE_') ? 'the answer is not valid HTTP' : 'the connection was closed without an answer';
}

/** Reads the body of an answer up to its limits. Never throws. */
async function takeIn(answer: IncomingMessage): Promise<void> {
  const done = new AbortController();
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) done.abort();
  });
  answer.on('error', () => undefined).once('close', () => done.abort());
  await delay(maxBodyMs, done.signal);
}

/** Descriptions of certificate errors by the error code of OpenSSL or Node. */
const faults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its chain ends in an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is unknown, or an intermediate certificate is missing',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another host name',
};

/**
 * Opens TLS over a connection as the client. The certificate must be valid for `host` (a name, or an IP address without brackets). The TLS
 * connection ends when the underlying socket is destroyed.
 *
 * @param ca PEM certificate authorities that replace the default ones
 * @throws DeliveryError
 */
function startTls(socket: Socket, host: string, isName: boolean, ca: string | undefined): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const secure = connectTls({
    socket,
    host,
    // SNI does not allow IP addresses (RFC 6066).
    ...(isName ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    ALPNProtocols: ['http/1.1'],
    // This is set explicitly, so that no environment variable can disable it.
    rejectUnauthorized: true,
  });
  secure.once('secureConnect', () => resolve(secure));
  // The listener is never removed: a late error without a listener would end the process.
  secure.on('error', (error) => reject(explain(secure, error)));
  secure.once('close', () => reject(new DeliveryError('the connection was closed during the TLS handshake')));
  return promise;
}

function explain({ authorizationError }: TLSSocket, error: Error): DeliveryError {
  if (!authorizationError) return new DeliveryError('the TLS handshake failed', { cause: error });
  const code = 'code' in error ? String(error.code) : error.message;
  return new DeliveryError(`the certificate is refused: ${faults[code] ?? code}`, { cause: error });
}

/** Why an event was not delivered, worded for the account holder. */
class DeliveryError extends Error {
  constructor(reason: string, options?: { cause: unknown }) {
    super(reason, options);
    this.name = 'DeliveryError';
  }
}
