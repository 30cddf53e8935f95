import { createHash } from 'node:crypto';
import sharp from 'sharp';
import type { Handler } from '../harness/test-site.ts';

/** Sends the same response to every request, after `afterMs`; the response must not be stored. */
export function answer(
  type: string,
  body: string | Buffer,
  options: { status?: number; headers?: Record<string, string>; afterMs?: number } = {},
): Handler {
  const { status = 200, headers = {}, afterMs = 0 } = options;
  return (_, response) => {
    const send = () =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...headers }).end(body);
    if (afterMs > 0) setTimeout(send, afterMs);
    else send();
  };
}

/** Redirects the browser to another address. */
export function redirect(location: string, status = 302): Handler {
  return (_, response) => void response.writeHead(status, { location }).end();
}

/** Accepts the request and never responds. */
export const hang: Handler = () => undefined;

/** Accepts the request and closes the connection. */
export const reset: Handler = (request) => void request.socket.destroy();

/**
 * Holds a page: it does not finish loading before its {@link hold} gets a response. That happens when the page's script has fetched
 * `/release`. This is for pages whose script takes some time, which on a busy machine can exceed any fixed delay.
 */
export function held(): Readonly<Record<'/held' | '/release', Handler>> {
  let waiting: (() => void) | undefined;
  const meet = (answer: () => void) => {
    const other = waiting;
    waiting = other === undefined ? answer : undefined;
    if (other === undefined) return;
    other();
    answer();
  };
  const handler: Handler = (_, response) => meet(() => response.writeHead(204).end());
  return { '/held': handler, '/release': handler };
}

/** See {@link held}. */
export const hold = '<img hidden src="/held">';

/**
 * A background of one color, with a mark in its corner. The engine retakes a picture of a single color a second later, in case
 * the page is still empty.
 */
export const marked = (color: string): string => `${color} linear-gradient(#000000, #000000) no-repeat 0 0 / 8px 8px`;

/** A picture of one color, 100 × 100 px, as SVG. */
export function svg(color: string, size = 100): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"><rect width="${size}" height="${size}" fill="${color}"/></svg>`;
}

/** {@link svg} as a response. */
export function svgAnswer(color: string, afterMs = 0, size = 100): Handler {
  return answer('image/svg+xml', svg(color, size), { afterMs });
}

/** A PNG of one color; it arrives after this number of milliseconds. */
export async function pngOf(color: string, { width = 20, height = 20, lateMs = 0 } = {}): Promise<Handler> {
  const image = sharp({ create: { width, height, channels: 3, background: color } });
  return answer('image/png', await image.png().toBuffer(), { afterMs: lateMs });
}

/** HTML that uses another host of the same site: `{other}` is replaced by its origin. */
export function withOther(text: string): Handler {
  return (request, response) => {
    const html = text.replaceAll('{other}', `http://other.test:${request.socket.localPort}`);
    response.writeHead(200, { 'content-type': 'text/html' }).end(html);
  };
}

/** Accepts a WebSocket and sends texts, each `afterMs` milliseconds after the previous one. */
export function webSocket(messages: readonly (readonly [afterMs: number, text: string])[]): Handler {
  return (request, { socket }) => {
    if (socket === null) return;
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.on('error', () => undefined);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    let at = 0;
    for (const [afterMs, text] of messages) {
      at += afterMs;
      setTimeout(() => {
        if (!socket.destroyed) socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]));
      }, at);
    }
  };
}
