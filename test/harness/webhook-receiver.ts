import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received event. */
export interface ReceivedEvent {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** A field of the body. */
  readonly type: string;
  readonly data: { readonly uuid: string; readonly status: string };
}

/** Receives webhooks and responds with `status`. */
export class WebhookReceiver implements AsyncDisposable {
  readonly events: ReceivedEvent[] = [];
  status = 204;
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(): Promise<WebhookReceiver> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts).toString('utf8');
        const { type, data } = JSON.parse(body) as ReceivedEvent;
        receiver.events.push({ headers: request.headers, body, type, data });
        response.writeHead(receiver.status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const receiver = new WebhookReceiver(`http://127.0.0.1:${port}/hook`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return receiver;
  }

  /** Returns the events about a capture. */
  about(uuid: string): ReceivedEvent[] {
    return this.events.filter(({ data }) => data.uuid === uuid);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}
