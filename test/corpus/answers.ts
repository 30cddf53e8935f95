import type { ServerResponse } from 'node:http';
import sharp from 'sharp';
import type { Handler } from '../harness/engine.ts';

/** Answers with a body of a type that is not html. */
export function answer(type: string, body: string | Buffer): Handler {
  return (_, response) => send(response, type, body);
}

/** A png of one colour; it comes so many milliseconds late. */
export async function pngOf(colour: string, { width = 20, height = 20, lateMs = 0 } = {}): Promise<Handler> {
  const bytes = await sharp({ create: { width, height, channels: 3, background: colour } })
    .png()
    .toBuffer();
  return (_, response) => {
    if (lateMs === 0) send(response, 'image/png', bytes);
    else setTimeout(() => send(response, 'image/png', bytes), lateMs);
  };
}

/** Html that names another host of the same site: `{other}` in it stands for its origin. */
export function withOther(text: string): Handler {
  return (request, response) =>
    send(response, 'text/html', text.replaceAll('{other}', `http://other.test:${request.socket.localPort}`));
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, { 'content-type': type }).end(body);
}
