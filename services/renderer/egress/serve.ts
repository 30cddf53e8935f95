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

/** What serving a request needs of the proxy session that it came in. */
export interface ServingSession {
  /** Keeps the connections of plain http. */
  readonly agent: Agent;
  /**
   * Connects to a server, if the policy lets it.
   *
   * @throws EgressFailure
   */
  dial(target: Target): Promise<Connection>;
  connectionOf(socket: Socket): Connection | undefined;
  /** Waits for the turn of a request, when there are too many; rejects when the session closes. */
  pace(): Promise<void>;
  /** Counts and logs a failure. */
  failed(target: Target, failure: EgressFailure): void;
  /** Counts bytes from servers, up to the limit. */
  received(bytes: number): void;
  /** Counts bytes to servers, up to the limit. */
  sent(bytes: number): void;
}

/** Of 1xx answers, before the answer itself: a server may send them for ever. */
const maxInterim = 20;

/** Browsers accept as much. */
export const maxHeaderSize = 256 * 1024;

/**
 * Addresses that full Chromium itself requests, without cookies, when the certificate of a page is wrong: an answer other than 204 means
 * that the network wants a person to log in. No switch turns the requests off. They get the answer of their server and do not leave.
 */
export const connectivityChecks: ReadonlySet<string> = new Set([
  'http://connectivitycheck.gstatic.com/generate_204',
  'http://www.gstatic.com/generate_204',
]);

/** Serves plain http: one request, one response, connections to servers kept for the next one. */
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

/** Sends the request and waits for the head of the response. */
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
    // Browsers are as forgiving, and this one is behind us; the connection is the session's own.
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
    // As long as an upload moves on, the server owes nothing.
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
    if (interim > maxInterim) upstream.destroy(new EgressFailure('unreachable', 'interim answers without an end'));
  });
  // A server that wants to switch protocols, which nobody asked for, is neither an answer nor an error to Node.
  upstream.once('close', () => reject(new EgressFailure('unreachable', 'the connection ended without an answer')));
  upstream.on('error', (error) => {
    // A server may close a kept connection at the moment of its next use: then nothing was served, and it is safe to
    // send a request without a body again.
    const again = upstream.reusedSocket && !(error instanceof EgressFailure) && isBodyless(request);
    if (again && !response.destroyed) resolve(send(session, plain, request, response));
    else reject(error);
  });
  if (isBodyless(request)) upstream.end();
  else request.pipe(upstream);
  return promise;
}

/** About as many as came: address and headers, without what separates them. */
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

/** RFC 9110, 7.6.1: they belong to one connection, not to the message. */
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
 * The headers to pass on, in their order and spelling: all but those of the connection and those named in `drop`.
 * What Node's HTTP would throw on is left out, as a browser would pass over it.
 *
 * @param raw names and values in turn, as in IncomingMessage.rawHeaders
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
 * Serves CONNECT, which browsers use for https, wss and ws. What flows is not looked at, with one exception: the
 * server must begin to answer in time after the browser's first bytes. Later silence may be a hanging response, but
 * also an idle connection or a quiet WebSocket; whoever can tell them apart calls ProxySession.cutSilent.
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
    // A reset of a connection that stood is the site's own affair, and the browser sees it.
    if (error instanceof EgressFailure) session.failed(target, error);
  });
  // What has arrived is handed on before the other side is closed.
  socket.once('close', () => client.destroySoon());
  client.once('close', () => socket.destroySoon());
  // A browser that ends its side is gone. What is still coming is passed on, but no server is waited for.
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

/** Carries the kind of the failure on answers that the proxy gives itself. */
const egressHeader = 'x-webcapture-egress';

const statuses: Readonly<Record<EgressFailureKind, number>> = {
  blocked: 403,
  unresolved: 502,
  unreachable: 502,
  'connect-timeout': 504,
  'response-timeout': 504,
  limit: 503,
  closed: 503,
};

const bodies: Readonly<Partial<Record<EgressFailureKind, string>>> = {
  blocked: 'Refused by the egress policy.\n',
};

/** Answers a CONNECT request that leads nowhere: the browser fails the navigation or the resource at once. */
function refuseTunnel(client: Duplex, kind: EgressFailureKind): void {
  const status = statuses[kind];
  const body = bodies[kind] ?? '';
  client.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${egressHeader}: ${kind}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Ends a plain request that leads nowhere. A refused one is answered with 403. The others end without an answer, as a
 * network error: an answer of ours would be taken for the site's, by the page's own error handling and, worse, by a
 * capture that then shows it as the page.
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

/** Answers what no browser sends to its proxy. */
function refuseMalformed(client: Duplex): void {
  client.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
}
