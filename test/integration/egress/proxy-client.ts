import { once } from 'node:events';
import http, { type IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

interface PlainOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly agent?: http.Agent;
}

/** Sends a plain request through a proxy, as a browser would. Rejects if the connection ends without a response. */
export async function plain(server: string, url: string, options: PlainOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, agent } = options;
  const request = http.request(server, { method, path: url, headers, ...(agent && { agent }) });
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body: Buffer.concat(chunks).toString(),
  };
}

/** Opens a tunnel. The socket is usable only with status 200. */
export async function openTunnel(server: string, authority: string) {
  const request = http.request(server, { method: 'CONNECT', path: authority });
  request.end();
  const [response, socket] = (await once(request, 'connect')) as [http.IncomingMessage, Socket, Buffer];
  socket.on('error', () => undefined);
  return { status: response.statusCode ?? 0, headers: response.headers, socket };
}

/** Returns the next bytes of a socket as text, or an empty text if it ended. */
export async function read(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const done = (text: string) => {
    socket.off('data', onData).off('close', onEnd).off('end', onEnd);
    resolve(text);
  };
  const onData = (chunk: Buffer) => done(chunk.toString());
  const onEnd = () => done('');
  if (socket.destroyed || socket.readableEnded) return '';
  socket.once('data', onData).once('close', onEnd).once('end', onEnd);
  return promise;
}
