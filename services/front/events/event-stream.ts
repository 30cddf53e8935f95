import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';

/** What streams are about: the captures of an account, or the fleet. */
export const streamKinds = ['captures', 'overview'] as const;
export type StreamKind = (typeof streamKinds)[number];

/** Why a stream ended: its client or the service went away, it did not read, or an error that the stream told of. */
export const streamEnds = ['client', 'shutdown', 'slow', 'error'] as const;
export type StreamEnd = (typeof streamEnds)[number];

export interface StreamMetrics {
  readonly streamOpened: (kind: StreamKind) => void;
  readonly streamEnded: (kind: StreamKind, reason: StreamEnd) => void;
}

interface EventStreamsOptions {
  /** Once it is aborted, all streams end: clients connect to another front. */
  readonly leaving: AbortSignal;
  readonly metrics: StreamMetrics;
  /** How often a comment is sent; by default 15 s. */
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

/** Proxies and clients take a connection that is silent for longer for dead. */
export const commentIntervalMs = 15_000;
export const comment = ': \n\n';

/** What a client has not read yet: beyond it the connection is closed. */
const maxBufferedBytes = 256 * 1024;

/** How long a client is to wait before it connects again. */
const retryMs = 2000;

/** Server-sent events: the streams that are open on this front. */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  /** By kind of stream, and by holder. */
  readonly #open = new Map<string, number>();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
  }

  /**
   * Takes a place for the stream that answers a request. It begins with {@link EventStream.start}; a request that fails before that
   * closes it.
   *
   * @param holders all of whom must have a place left
   * @throws RetryLaterError RATE_LIMIT_EXCEEDED
   */
  reserve(
    request: FastifyRequest,
    reply: FastifyReply,
    { kind, holders }: { readonly kind: StreamKind; readonly holders: readonly StreamHolder[] },
  ): EventStream {
    const full = holders.find((holder) => this.#openOf(placeOf(holder)) >= holder.max);
    if (full !== undefined) {
      throw tooMany(`This ${full.kind} has ${full.max} event streams open, as many as it may have. Close one of them.`);
    }
    if (this.#openOf(kind) >= maxStreams) throw tooMany('Too many event streams are open. Try again later.');
    const places = [kind, ...holders.map(placeOf)];
    for (const place of places) this.#open.set(place, this.#openOf(place) + 1);
    const onEnd = () => {
      for (const place of places) {
        const left = this.#openOf(place) - 1;
        if (left === 0) this.#open.delete(place);
        else this.#open.set(place, left);
      }
    };
    return new EventStream(request, reply, { ...this.#options, kind, onEnd });
  }

  #openOf(place: string): number {
    return this.#open.get(place) ?? 0;
  }
}

/** Of a response that is a stream of events, with those that the reply has already. */
export const eventStreamHeaders = (reply: FastifyReply): Record<string, string> => ({
  ...(reply.getHeaders() as Record<string, string>),
  'content-type': `${eventStreamType}; charset=utf-8`,
  'cache-control': 'no-store',
  // nginx would keep events until it has a page of them.
  'x-accel-buffering': 'no',
});

/** @param data JSON */
export const formatEvent = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

const placeOf = ({ kind, id }: StreamHolder) => `${kind} ${id}`;

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

  /** Sends the head of the response; from now on the request cannot fail any more. */
  start(): FastifyReply {
    const { facts } = this.#request;
    const { raw } = this.#reply;
    this.#reply.hijack();
    // The stream does not count as processing time, and the client has received its response when it closes the stream.
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

  /** Gives the place back of a stream that has not begun. */
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
