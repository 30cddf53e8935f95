import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';

/** Topic of a stream: the captures of an account, or the fleet. */
export const streamKinds = ['captures', 'overview'] as const;
export type StreamKind = (typeof streamKinds)[number];

/** Reason for the end of a stream: nothing is left to report, the client disconnected, the front shut down, the client read too slowly, or an error was sent. */
export const streamEnds = ['completed', 'client', 'shutdown', 'slow', 'error'] as const;
export type StreamEnd = (typeof streamEnds)[number];

export interface StreamMetrics {
  readonly streamOpened: (kind: StreamKind) => void;
  readonly streamEnded: (kind: StreamKind, reason: StreamEnd) => void;
}

interface EventStreamsOptions {
  /** When it aborts, all streams end, so that clients connect to another front. */
  readonly leaving: AbortSignal;
  readonly metrics: StreamMetrics;
  /** Interval of comments; 15 s by default. */
  readonly commentMs?: number;
}

/** Maximum number of streams of one kind on a front; streams of clients leave room for operators. */
const maxStreams = 500;

/** A holder of at most `max` concurrent streams on a front. */
interface StreamHolder {
  readonly kind: 'API key' | 'account' | 'admin token';
  readonly id: string;
  readonly max: number;
}

export const eventStreamType = 'text/event-stream';

/** Comments prevent proxies and clients from closing idle connections. */
export const commentIntervalMs = 15_000;
export const comment = ': \n\n';

/** Maximum amount of unread data; the connection is closed beyond it. */
const maxBufferedBytes = 256 * 1024;

/** Time that clients wait before they reconnect. */
const retryMs = 2000;

/** The open streams of server-sent events of this front. */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  /** Number of open streams by kind and by holder. */
  readonly #open = new Map<string, number>();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
  }

  /**
   * Reserves a slot for the stream that answers a request. The stream starts with {@link EventStream.start}. If the request fails before
   * that, the caller must close the stream.
   *
   * @param holders each must have a free slot
   * @throws RetryLaterError RATE_LIMIT_EXCEEDED
   */
  reserve(
    request: FastifyRequest,
    reply: FastifyReply,
    { kind, holders }: { readonly kind: StreamKind; readonly holders: readonly StreamHolder[] },
  ): EventStream {
    const full = holders.find((holder) => this.#openOf(slotOf(holder)) >= holder.max);
    if (full !== undefined) {
      throw tooMany(`This ${full.kind} has ${full.max} open event streams, which is the maximum. Close one of them.`);
    }
    if (this.#openOf(kind) >= maxStreams) throw tooMany('Too many event streams are open. Try again later.');
    const slots = [kind, ...holders.map(slotOf)];
    for (const slot of slots) this.#open.set(slot, this.#openOf(slot) + 1);
    const onEnd = () => {
      for (const slot of slots) {
        const left = this.#openOf(slot) - 1;
        if (left === 0) this.#open.delete(slot);
        else this.#open.set(slot, left);
      }
    };
    return new EventStream(request, reply, { ...this.#options, kind, onEnd });
  }

  #openOf(slot: string): number {
    return this.#open.get(slot) ?? 0;
  }
}

/** Returns the headers of a stream of events, including those that are already set on the reply. */
export const eventStreamHeaders = (reply: FastifyReply): Record<string, string> => ({
  ...(reply.getHeaders() as Record<string, string>),
  'content-type': `${eventStreamType}; charset=utf-8`,
  'cache-control': 'no-store',
  // Without this header, nginx holds events back until they fill a page of its buffer.
  'x-accel-buffering': 'no',
});

/** @param data JSON */
export const formatEvent = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

const slotOf = ({ kind, id }: StreamHolder) => `${kind} ${id}`;

const tooMany = (message: string) => new RetryLaterError('RATE_LIMIT_EXCEEDED', message, 10);

interface StreamOptions extends EventStreamsOptions {
  readonly kind: StreamKind;
  readonly onEnd: () => void;
}

/** One response of the type `text/event-stream`. */
export class EventStream {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #options: StreamOptions;
  readonly #ended = new AbortController();
  #isStarted = false;
  #comments: NodeJS.Timeout | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, options: StreamOptions) {
    this.#request = request;
    this.#reply = reply;
    this.#options = options;
    const { leaving } = options;
    reply.raw.once('close', () => this.#end('client'));
    leaving.addEventListener('abort', () => this.#end('shutdown'), { once: true, signal: this.ended });
    if (leaving.aborted) this.#end('shutdown');
    if (reply.raw.destroyed) this.#end('client');
  }

  /** Aborts when the stream has ended on either side. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Sends the head of the response. From now on the request cannot fail with a status. */
  start(): FastifyReply {
    const { facts } = this.#request;
    const { raw } = this.#reply;
    this.#reply.hijack();
    // The duration of the stream does not count as processing time. When the client closes the stream, it has received its response.
    facts.streamingSince = performance.now();
    facts.isAnswered = true;
    const isLeaving = this.#options.leaving.aborted;
    raw.writeHead(200, {
      ...eventStreamHeaders(this.#reply),
      ...(isLeaving ? { connection: 'close' } : {}),
    });
    raw.write(`retry: ${retryMs}\n\n`);
    if (this.ended.aborted) {
      raw.end();
      return this.#reply;
    }
    this.#isStarted = true;
    this.#options.metrics.streamOpened(this.#options.kind);
    this.#comments = setInterval(() => this.#write(comment), this.#options.commentMs ?? commentIntervalMs);
    return this.#reply;
  }

  /** Sends an event. `data`: JSON. */
  send(event: string, data: string): void {
    this.#write(formatEvent(event, data));
  }

  /** Ends the stream with an error event. */
  fail({ code, message }: ServiceError): void {
    this.send('error', JSON.stringify({ code, message }));
    this.#end('error');
  }

  /** Ends the stream because nothing is left to report. */
  complete(): void {
    this.#end('completed');
  }

  /** Frees the slot of a stream that has not started. */
  close(): void {
    this.#end('client');
  }

  #write(text: string): void {
    const { raw } = this.#reply;
    if (!this.#isStarted || this.ended.aborted) return;
    raw.write(text);
    if (raw.writableLength <= maxBufferedBytes) return;
    this.#end('slow');
    raw.destroy();
  }

  #end(reason: StreamEnd): void {
    if (this.ended.aborted) return;
    clearInterval(this.#comments);
    this.#options.onEnd();
    if (this.#isStarted) {
      this.#options.metrics.streamEnded(this.#options.kind, reason);
      if (reason !== 'client') this.#reply.raw.end();
    }
    this.#ended.abort();
  }
}
