import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { listen, type Site } from '../egress/sites.ts';

/** A complete request that a receiver got. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The server of an account holder. */
export interface Receiver extends Site {
  /** Requests so far, in order. */
  readonly received: readonly Received[];
  /** Number of open connections. */
  open(): number;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** Responds with a status and no body. */
export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end();

/**
 * Starts a receiver on a loopback address, with https if `tls` is set. `answer` responds to each complete request. The
 * default response is 204.
 */
export async function startReceiver(
  address: string,
  answer: Answer = status(204),
  tls?: { readonly cert: string; readonly key: string },
): Promise<Receiver> {
  const received: Received[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      answer(response, request);
    });
  };
  const server = tls === undefined ? http.createServer(onRequest) : https.createServer(tls, onRequest);
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
  });
  return { ...(await listen(server, address)), received, open: () => open };
}
