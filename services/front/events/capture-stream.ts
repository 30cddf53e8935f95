import type { CaptureProgress } from '@webcapture/shared/api/capture-event.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { noteError } from '../http/errors.ts';
import { comment, commentIntervalMs, eventStreamHeaders, formatEvent } from './event-stream.ts';

/**
 * The response to POST /capture as server-sent events, for clients that follow their capture. It starts with the first event; a request
 * that fails earlier gets an error with its status.
 */
export class CaptureStream {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #setHeaders: () => void;
  #comments: NodeJS.Timeout | undefined;

  /** @param setHeaders sets the headers of the capture before the response starts */
  constructor(request: FastifyRequest, reply: FastifyReply, setHeaders: () => void) {
    this.#request = request;
    this.#reply = reply;
    this.#setHeaders = setHeaders;
  }

  /** Whether the response has started. From then on, errors can be sent only by {@link fail}. */
  get isStarted(): boolean {
    return this.#comments !== undefined;
  }

  progress(progress: CaptureProgress): void {
    this.#send('progress', progress);
  }

  /** Ends the stream with the body that a response without a stream would have. */
  end(body: object): FastifyReply {
    this.#send('result', body);
    return this.#close();
  }

  /** Ends the stream with an error event. */
  fail(thrown: Error): FastifyReply {
    const { code, message } = noteError(thrown, this.#request);
    this.#send('error', { code, message });
    return this.#close();
  }

  #send(event: string, data: object): void {
    if (!this.isStarted) this.#start();
    this.#reply.raw.write(formatEvent(event, JSON.stringify(data)));
  }

  #start(): void {
    this.#setHeaders();
    this.#reply.hijack();
    const { raw } = this.#reply;
    raw.writeHead(200, {
      ...eventStreamHeaders(this.#reply),
      // The front may start to drain during the stream, when it is too late to send headers.
      connection: 'close',
    });
    this.#comments = setInterval(() => raw.write(comment), commentIntervalMs);
    raw.once('close', () => clearInterval(this.#comments));
  }

  #close(): FastifyReply {
    clearInterval(this.#comments);
    this.#reply.raw.end();
    return this.#reply;
  }
}
