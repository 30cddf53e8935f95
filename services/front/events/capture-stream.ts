import type { CaptureProgress } from '@webcapture/shared/api/capture-event.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { noteError } from '../http/errors.ts';

export const eventStreamType = 'text/event-stream';

/** Proxies and clients take a connection that is silent for longer for dead. */
const commentMs = 15_000;

/**
 * The answer to POST /capture as server-sent events, for a client that follows its capture. It begins with the first event: what is
 * refused before that is answered as an error with its status.
 */
export class CaptureStream {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #setHeaders: () => void;
  #comments: NodeJS.Timeout | undefined;

  /** @param setHeaders sets those that tell of the capture, before the answer begins */
  constructor(request: FastifyRequest, reply: FastifyReply, setHeaders: () => void) {
    this.#request = request;
    this.#reply = reply;
    this.#setHeaders = setHeaders;
  }

  /** Whether the answer has begun: then an error can be told by {@link fail} only. */
  get isStarted(): boolean {
    return this.#comments !== undefined;
  }

  progress(progress: CaptureProgress): void {
    this.#send('progress', progress);
  }

  /** Ends the stream with what would have been the body of the answer. */
  end(body: object): FastifyReply {
    this.#send('result', body);
    return this.#close();
  }

  /** Ends the stream with an event that tells why. */
  fail(thrown: Error): FastifyReply {
    const { code, message } = noteError(thrown, this.#request);
    this.#send('error', { code, message });
    return this.#close();
  }

  #send(event: string, data: object): void {
    if (!this.isStarted) this.#start();
    this.#reply.raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #start(): void {
    this.#setHeaders();
    this.#reply.hijack();
    const { raw } = this.#reply;
    raw.writeHead(200, {
      ...(this.#reply.getHeaders() as Record<string, string>),
      'content-type': `${eventStreamType}; charset=utf-8`,
      'cache-control': 'no-store',
      // nginx would keep events until it has a page of them.
      'x-accel-buffering': 'no',
      // The front may begin to drain meanwhile, and could no longer say so.
      connection: 'close',
    });
    this.#comments = setInterval(() => raw.write(': \n\n'), commentMs);
    raw.once('close', () => clearInterval(this.#comments));
  }

  #close(): FastifyReply {
    clearInterval(this.#comments);
    this.#reply.raw.end();
    return this.#reply;
  }
}
