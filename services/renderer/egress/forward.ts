import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { EgressFailure, toEgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import { endToEndHeaders } from './headers.ts';
import type { LaneContext } from './lane-context.ts';
import { refuseMalformed, refuseRequest } from './refusal.ts';
import { parseAbsoluteForm, type PlainRequest } from './target.ts';

/** Of 1xx answers, before the answer itself: a server may send them for ever. */
const mostInterim = 20;

/** Browsers accept as much. */
export const maxHeaderSize = 256 * 1024;

/** Serves plain http: one request, one response, connections to servers kept for the next one. */
export async function forward(lane: LaneContext, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const plain = parseAbsoluteForm(request.url ?? '');
  if (plain === undefined) return refuseMalformed(request.socket);
  lane.sent(headBytes(request));
  if (!isBodyless(request)) request.on('data', (chunk: Buffer) => lane.sent(chunk.length));
  try {
    const answer = await send(lane, plain, request, response);
    lane.received(headBytes(answer));
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEndHeaders(answer.rawHeaders));
    const connection = lane.connectionOf(answer.socket);
    answer.on('data', (chunk: Buffer) => {
      lane.received(chunk.length);
      if (connection) connection.lastByteAt = performance.now();
    });
    await pipeline(answer, response);
  } catch (error) {
    if (response.destroyed) return;
    const failure = toEgressFailure(error);
    lane.failed(plain.target, failure);
    refuseRequest(response, failure.kind);
  }
}

/** Sends the request and waits for the head of the response. */
async function send(
  lane: LaneContext,
  plain: PlainRequest,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const upstream = http.request({
    agent: lane.agent,
    host: plain.target.host,
    port: plain.target.port,
    method: request.method,
    path: plain.path,
    headers: ['Host', plain.authority, ...endToEndHeaders(request.rawHeaders, ['host'])],
    setHost: false,
    // Browsers are as forgiving, and this one is behind us; the connection is the lane's own.
    insecureHTTPParser: true,
    maxHeaderSize,
  });
  response.once('close', () => upstream.destroy());

  upstream.once('socket', (socket) => {
    const connection = lane.connectionOf(socket);
    if (connection === undefined) return;
    const owed = () => {
      connection.lastByteAt = connection.awaitingSince = performance.now();
    };
    owed();
    // As long as an upload moves on, the server owes nothing.
    request.on('data', owed);
    upstream.once('response', () => {
      request.off('data', owed);
      connection.awaitingSince = undefined;
    });
  });
  upstream.once('response', resolve);
  let interim = 0;
  upstream.on('information', (information) => {
    lane.received(headBytes(information));
    interim += 1;
    if (interim > mostInterim) upstream.destroy(new EgressFailure('unreachable', 'interim answers without an end'));
  });
  // A server that wants to switch protocols, which nobody asked for, is neither an answer nor an error to Node.
  upstream.once('close', () => reject(new EgressFailure('unreachable', 'the connection ended without an answer')));
  upstream.on('error', (error) => {
    // A server may close a kept connection at the moment of its next use: then nothing was served, and it is safe to
    // send a request without a body again.
    const again = upstream.reusedSocket && !(error instanceof EgressFailure) && isBodyless(request);
    if (again && !response.destroyed) resolve(send(lane, plain, request, response));
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
