import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A fault of one request. */
export type Fault =
  /** The proxy sends this response, and the request does not reach the server. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Record<string, string>;
    }
  /** The server receives this number of bytes of the body; then its connection breaks, and the client's connection is reset. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Like `reset`, but for a resumable upload: the server keeps the bytes and reports them if it is asked. */
  | { readonly kind: 'break'; readonly afterBytes: number }
  /** The server receives `afterBytes` bytes, counted over all matching requests. Then the transfer stalls until the client disconnects. */
  | { readonly kind: 'hold'; readonly passed: { bytes: number }; readonly afterBytes: number }
  /** The request takes effect, and the connection is reset instead of a response. */
  | { readonly kind: 'lose the answer' }
  /** The request takes effect, but no response is sent. */
  | { readonly kind: 'hang' }
  /** The response is delayed. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The request does not reach the server before this promise resolves. */
  | { readonly kind: 'wait'; readonly until: Promise<unknown> }
  /** The body of the response ends after this number of bytes: soon, or when the promise resolves. */
  | { readonly kind: 'cut'; readonly afterBytes: number; readonly when?: Promise<unknown> }
  /** The body of the response stalls after this number of bytes. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  /** One bit of the last bytes of the request is flipped. */
  | { readonly kind: 'damage' }
  /** The text of the response is changed. */
  | { readonly kind: 'rewrite'; readonly change: (text: string) => string };

export interface SeenRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

type Match = (request: SeenRequest) => boolean;

/** A proxy in front of an HTTP server that injects the faults that tests request. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** Every received request. */
  readonly seen: SeenRequest[];
  /** Number of connections that were opened to the proxy. */
  readonly connections: () => number;
  /** The next matching requests have these faults, one fault each. Null stands for a request without a fault. */
  next(match: Match, ...faults: (Fault | null)[]): void;
  /** All matching requests have the fault until {@link FaultProxy.heal}. */
  always(match: Match, fault: Fault): void;
  /** Limits the total number of bytes of matching requests; returns how many have been forwarded. */
  hold(match: Match, afterBytes: number): () => number;
  /** Number of open connections. */
  readonly open: () => number;
  /** Stops answering requests on the connections that are open now. */
  deaden(): void;
  /** Requests that arrived over such connections. */
  readonly unanswered: () => number;
  /** Clears all faults and recorded requests. */
  heal(): void;
}

export async function startFaultProxy(upstream: string): Promise<FaultProxy> {
  const seen: SeenRequest[] = [];
  let orders: { match: Match; faults: (Fault | null)[]; forever: boolean }[] = [];
  const kept = new Map<string, string>();
  let connections = 0;
  let unanswered = 0;
  const faultOf = (request: SeenRequest): Fault | null => {
    const order = orders.find(({ match, faults }) => faults.length > 0 && match(request));
    if (order === undefined) return null;
    return (order.forever ? order.faults[0] : order.faults.shift()) ?? null;
  };
  const server = createServer((request, response) => {
    if (dead.has(request.socket)) {
      unanswered++;
      return;
    }
    serve(request, response, { upstream, seen, faultOf, kept }).catch(() => request.socket.destroy());
  });
  const sockets = new Set<Socket>();
  const dead = new WeakSet<Socket>();
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    connections: () => connections,
    open: () => sockets.size,
    deaden: () => {
      for (const socket of sockets) dead.add(socket);
    },
    unanswered: () => unanswered,
    next: (match, ...faults) => void orders.push({ match, faults, forever: false }),
    always: (match, fault) => void orders.push({ match, faults: [fault], forever: true }),
    hold: (match, afterBytes) => {
      const passed = { bytes: 0 };
      orders.push({ match, faults: [{ kind: 'hold', passed, afterBytes }], forever: true });
      return () => passed.bytes;
    },
    heal: () => {
      orders = [];
      seen.length = 0;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Context {
  readonly upstream: string;
  readonly seen: SeenRequest[];
  readonly faultOf: (request: SeenRequest) => Fault | null;
  /** Bytes that the server has of broken uploads, by address, as it reports them. */
  readonly kept: Map<string, string>;
}

async function serve(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const url = new URL(request.url ?? '/', context.upstream);
  const head = { method: request.method ?? 'GET', url, headers: request.headers, body: Buffer.alloc(0) };
  const fault = context.faultOf(head);
  if (fault?.kind === 'reset' || fault?.kind === 'hold') {
    context.seen.push(head);
    return passPart(request, response, head, fault);
  }
  const body = await buffer(request);
  context.seen.push({ ...head, body });
  if (fault?.kind === 'break') {
    context.kept.set(url.href, await keepPart(head, body.subarray(0, fault.afterBytes)));
    request.socket.resetAndDestroy();
    return;
  }
  const range = context.kept.get(url.href);
  // The server of the tests would treat the query as the end of the upload.
  if (range !== undefined && head.headers['content-range']?.startsWith('bytes */') === true) {
    response.writeHead(308, { range }).end();
    return;
  }
  if (fault?.kind === 'answer') {
    response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers }).end(fault.body);
    return;
  }
  if (fault?.kind === 'damage') body[body.length - 64] = (body[body.length - 64] ?? 0) ^ 1;
  if (fault?.kind === 'delay') await sleep(fault.ms);
  if (fault?.kind === 'wait') await fault.until;
  const answer = await forward(head, body);
  switch (fault?.kind) {
    case 'lose the answer':
      await buffer(answer);
      request.socket.resetAndDestroy();
      return;
    case 'hang':
      await buffer(answer);
      return;
    case 'rewrite': {
      const text = fault.change((await buffer(answer)).toString());
      const { 'content-length': _, ...headers } = answer.headers;
      response.writeHead(answer.statusCode ?? 500, headers).end(text);
      return;
    }
    case 'cut':
    case 'stall': {
      const all = await buffer(answer);
      response.writeHead(answer.statusCode ?? 500, { ...answer.headers, 'content-length': all.length });
      response.write(all.subarray(0, fault.afterBytes));
      if (fault.kind === 'stall') return;
      await (fault.when ?? sleep(20));
      request.socket.resetAndDestroy();
      return;
    }
    default:
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
  }
}

/**
 * Forwards the first bytes of a request, so that the server has them even if the rest never arrives. A shorter request is forwarded
 * completely. (The proxy does this because fake-gcs-server reads a whole body before it keeps anything. Tests would only see what was sent
 * completely before: an object that was created empty, or in pieces.)
 */
function passPart(
  request: IncomingMessage,
  response: ServerResponse,
  { method, url, headers }: SeenRequest,
  fault: Fault & { readonly kind: 'reset' | 'hold' },
): Promise<void> {
  const passed = fault.kind === 'hold' ? fault.passed : { bytes: 0 };
  return new Promise((resolve) => {
    const onward = httpRequest(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => resolve());
    request.on('error', () => resolve());
    request.socket.once('close', () => onward.destroy());
    request.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, fault.afterBytes - passed.bytes);
      passed.bytes += part.length;
      const isLast = passed.bytes >= fault.afterBytes;
      if (isLast) request.pause();
      onward.write(part, () => {
        if (isLast && fault.kind === 'reset') request.socket.resetAndDestroy();
        if (isLast) resolve();
      });
    });
    request.on('end', () => onward.end(resolve));
  });
}

/** Stores the first bytes of a resumable upload as one piece; resolves with the range that the server has. */
async function keepPart(head: SeenRequest, body: Buffer): Promise<string> {
  const total = head.headers['content-range']?.split('/')[1];
  const headers = {
    ...head.headers,
    'content-length': String(body.length),
    'content-range': `bytes 0-${body.length - 1}/${total}`,
  };
  const answer = await forward({ ...head, headers }, body);
  await buffer(answer);
  if (answer.statusCode !== 308) throw new Error(`the server did not keep a piece: ${answer.statusCode}`);
  return String(answer.headers.range);
}

function forward({ method, url, headers }: SeenRequest, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // The Host header stays, so addresses in responses lead through this proxy.
    const onward = httpRequest(url, { method, headers }, resolve);
    onward.on('error', reject);
    onward.end(body);
  });
}

/** An error in the format of Google's JSON API. */
export function googleError(status: number, reason: string, message: string): Fault {
  const body = JSON.stringify({ error: { code: status, message, errors: [{ message, domain: 'global', reason }] } });
  return { kind: 'answer', status, body, headers: { 'content-type': 'application/json; charset=UTF-8' } };
}
