import http, {
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
  type Agent,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EgressFailure, type EgressFailureKind } from '@webcapture/shared/egress/policy.ts';
import { type Connection, toEgressFailure } from './connections.ts';
import { parseAbsoluteForm, targetOfAuthority, type PlainRequest, type Target } from './target.ts';

/** The functions of a proxy session that serve its requests. */
export interface ServingSession {
  /** Keeps plain HTTP connections. */
  readonly agent: Agent;
  /**
   * Connects to a server if the policy allows it.
   *
   * @throws EgressFailure
   */
  dial(target: Target): Promise<Connection>;
  connectionOf(socket: Socket): Connection | undefined;
  /** Delays a request if there are too many; rejects when the session closes. */
  pace(): Promise<void>;
  /** Counts and logs a failure. */
  failed(target: Target, failure: EgressFailure): void;
  /** Counts bytes received from servers, up to the limit. */
  received(bytes: number): void;
  /** Counts bytes sent to servers, up to the limit. */
  sent(bytes: number): void;
}

/** Maximum number of 1xx responses before the response itself, because a server could send them endlessly. */
const maxInterim = 20;

/** Maximum size of headers in bytes, which is also the limit of browsers. */
export const maxHeaderSize = 256 * 1024;

/**
 * Addresses that full Chromium requests without cookies if the certificate of a page is invalid. A response other than 204 tells it that
 * the network requires a login. No switch disables these requests. The proxy answers them in place of the servers, so that they do not
 * leave the machine.
 */
export const connectivityChecks: ReadonlySet<string> = new Set([
  'http://connectivitycheck.gstatic.com/generate_204',
  'http://www.gstatic.com/generate_204',
]);

/** Forwards a plain HTTP request. Connections to servers are kept for later requests. */
export async function forward(
  session: ServingSession,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const plain = parseAbsoluteForm(request.url ?? '');
  if (plain === undefined) return refuseMalformed(request.socket);
  if (connectivityChecks.has(request.url ?? '')) {
    response.writeHead(204).end();
    return;
  }
  session.sent(headBytes(request));
  try {
    await session.pace();
    if (!isBodyless(request)) request.on('data', (chunk: Buffer) => session.sent(chunk.length));
    const answer = await send(session, plain, request, response);
    session.received(headBytes(answer));
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEndHeaders(answer.rawHeaders));
    const connection = session.connectionOf(answer.socket);
    answer.on('data', (chunk: Buffer) => {
      session.received(chunk.length);
      if (connection) connection.lastByteAt = performance.now();
    });
    await pipeline(answer, response);
  } catch (error) {
    if (response.destroyed) return;
    const failure = toEgressFailure(error);
    session.failed(plain.target, failure);
    refuseRequest(response, failure.kind);
  }
}

/** Sends the request and waits for the response headers. */
async function send(
  session: ServingSession,
  plain: PlainRequest,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const upstream = http.request({
    agent: session.agent,
    host: plain.target.host,
    port: plain.target.port,
    method: request.method,
    path: plain.path,
    headers: ['Host', plain.authority, ...endToEndHeaders(request.rawHeaders, ['host'])],
    setHost: false,
    // Browsers accept such input as well. The browser is the only client, and no other session shares the connection.
    insecureHTTPParser: true,
    maxHeaderSize,
  });
  response.once('close', () => upstream.destroy());

  upstream.once('socket', (socket) => {
    const connection = session.connectionOf(socket);
    if (connection === undefined) return;
    const expectAnswer = () => {
      connection.lastByteAt = connection.awaitingSince = performance.now();
    };
    expectAnswer();
    // While an upload makes progress, the response timeout starts again.
    request.on('data', expectAnswer);
    upstream.once('response', () => {
      request.off('data', expectAnswer);
      connection.awaitingSince = undefined;
    });
  });
  upstream.once('response', resolve);
  let interim = 0;
  upstream.on('information', (information) => {
    session.received(headBytes(information));
    interim += 1;
    if (interim > maxInterim) upstream.destroy(new EgressFailure('unreachable', 'endless interim responses'));
  });
  // If a server switches protocols without being asked, Node reports neither a response nor an error.
  upstream.once('close', () => reject(new EgressFailure('unreachable', 'the connection ended without a response')));
  upstream.on('error', (error) => {
    // A server may close a kept connection at the moment of its reuse. It has not processed the request then, so a request without a body
    // can be sent again safely.
    const again = upstream.reusedSocket && !(error instanceof EgressFailure) && isBodyless(request);
    if (again && !response.destroyed) resolve(send(session, plain, request, response));
    else reject(error);
  });
  if (isBodyless(request)) upstream.end();
  else request.pipe(upstream);
  return promise;
}

/** Returns the approximate size of the head: address and headers, without separators. */
function headBytes({
  url = '',
  rawHeaders,
}: {
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
}): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, url.length);
}

function isBodyless({ method, headers }: IncomingMessage): boolean {
  const declared = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return !declared && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}

/** Headers that belong to one connection, not to the message (RFC 9110, 7.6.1). */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Returns the headers to forward, in their order and spelling. Omits those of the connection, those named in `drop`, and those for which
 * Node's HTTP would throw; a browser ignores the latter.
 *
 * @param raw alternating names and values, as in IncomingMessage.rawHeaders
 */
function endToEndHeaders(raw: readonly string[], drop: readonly string[] = []): string[] {
  const pairs = raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : []));
  const dropped = new Set(drop);
  for (const [name, value] of pairs) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const option of value.split(',')) dropped.add(option.trim().toLowerCase());
  }
  return pairs
    .filter(([name, value]) => {
      const lower = name.toLowerCase();
      return !hopByHop.has(lower) && !dropped.has(lower) && isValid(name, value);
    })
    .flat();
}

function isValid(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

const halfOpenTimeoutMs = 1000;

/**
 * Serves CONNECT, which browsers use for https, wss and ws. The proxy does not inspect the data. It only requires that the server starts to
 * respond within the timeout after the browser's first bytes. Later silence may be a hanging response, an idle connection or a quiet
 * WebSocket; a caller that can distinguish them uses ProxySession.cutSilent.
 */
export async function tunnel(
  session: ServingSession,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  client.on('error', () => client.destroy());
  const target = targetOfAuthority(request.url ?? '');
  if (target === undefined) return refuseMalformed(client);

  const dialing = session.pace().then(() => session.dial(target));
  const connection = await dialing.catch((error: unknown) => {
    const failure = toEgressFailure(error);
    session.failed(target, failure);
    refuseTunnel(client, failure.kind);
  });
  if (!connection) return;
  const { socket } = connection;
  if (client.destroyed) {
    socket.destroy();
    return;
  }

  socket.on('error', (error) => {
    // If an established connection is reset, the site has failed, and the browser handles it.
    if (error instanceof EgressFailure) session.failed(target, error);
  });
  // Data that has arrived is forwarded before the other side is closed.
  socket.once('close', () => client.destroySoon());
  client.once('close', () => socket.destroySoon());
  // If the browser ends its side, it has closed the connection. Remaining data is forwarded, but the proxy does not wait for the server.
  client.once('end', () => socket.setTimeout(halfOpenTimeoutMs, () => socket.destroy()));

  let answered = false;
  const sent = () => {
    connection.lastByteAt = performance.now();
    if (!answered) connection.awaitingSince ??= connection.lastByteAt;
  };
  socket.on('data', (chunk: Buffer) => {
    answered = true;
    connection.awaitingSince = undefined;
    connection.lastByteAt = performance.now();
    session.received(chunk.length);
  });
  client.on('data', (chunk: Buffer) => {
    sent();
    session.sent(chunk.length);
  });

  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) {
    sent();
    session.sent(head.length);
    socket.write(head);
  }
  socket.pipe(client);
  client.pipe(socket);
}

/** Name of the header that contains the failure kind in responses of the proxy itself. */
const egressHeader = 'x-webcapture-egress';

const statuses: Readonly<Record<EgressFailureKind, number>> = {
  blocked: 403,
  unresolved: 502,
  unreachable: 502,
  'connect-timeout': 504,
  'response-timeout': 504,
  'upstream-unreachable': 502,
  'upstream-authentication': 502,
  'upstream-refused': 502,
  'upstream-timeout': 504,
  limit: 503,
  closed: 503,
};

const bodies: Readonly<Partial<Record<EgressFailureKind, string>>> = {
  blocked: 'Refused by the egress policy.\n',
};

/** Refuses a CONNECT request, so that the browser immediately fails the navigation or the resource. */
function refuseTunnel(client: Duplex, kind: EgressFailureKind): void {
  const status = statuses[kind];
  const body = bodies[kind] ?? '';
  client.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${egressHeader}: ${kind}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Ends a failed plain request. If the policy refuses the request, it gets a 403 response. Any other request ends without a response, which
 * is a network error for the browser. Error handling of the page would take a response of the proxy for the site's, and a capture could
 * show it as the page.
 */
function refuseRequest(response: ServerResponse, kind: EgressFailureKind): void {
  if (response.headersSent || kind !== 'blocked') {
    response.destroy();
    return;
  }
  response.writeHead(statuses[kind], {
    [egressHeader]: kind,
    'content-type': 'text/plain',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(bodies[kind]);
}

/** Answers a request of a kind that no browser sends to a proxy. */
function refuseMalformed(client: Duplex): void {
  client.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
}
