import { errorOfCode, errorOfResponse, NetworkError, WebcaptureError, type ErrorCode } from './errors.ts';
import type { CallOptions, RawAnswer } from './requests.ts';

/** Options for following a stream of events. */
export interface EventsOptions extends CallOptions {
  /** Called when the stream has started. If the caller reads data now, the data and the events together miss no change. */
  readonly onOpen?: (() => void) | undefined;
}

/** An event of the stream. */
export interface ServerEvent {
  /** Name of the event; `message` if the server sent no name. */
  readonly event: string;
  readonly data: string;
}

/** Timeout of a silent stream. The service sends a comment every 15 seconds. */
const defaultSilenceMs = 45_000;

/**
 * Yields the data of the events with a name. Ignores other events, which later versions of the service may send.
 *
 * @throws WebcaptureError UNEXPECTED_RESPONSE if the data of such an event is not a JSON object: skipping the event would hide a change
 * from the caller
 */
export async function* dataOfEvents<T>(name: string, events: AsyncIterable<ServerEvent>): AsyncGenerator<T, void> {
  for await (const event of events) if (event.event === name) yield parseData(event) as T;
}

/**
 * Reads server-sent events with fetch, because EventSource cannot send the Authorization header. Returns when the server ends the
 * stream.
 *
 * @param open sends the request
 * @throws the WebcaptureError that an event `error` describes; UNEXPECTED_RESPONSE if such an event describes no error; NetworkError if
 * the stream is cut or silent; the reason of the signal
 */
export async function* readEvents(
  open: (signal: AbortSignal) => Promise<RawAnswer<ReadableStream<Uint8Array> | null>>,
  { signal, onOpen, silenceMs = defaultSilenceMs }: EventsOptions & { readonly silenceMs?: number | undefined } = {},
): AsyncGenerator<ServerEvent, void> {
  const silence = new AbortController();
  const stop = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
  // The time that the caller spends between two events does not count as silence.
  const awaited = async <R>(next: Promise<R>): Promise<R> => {
    const timer = setTimeout(() => silence.abort(), silenceMs);
    try {
      return await next;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof WebcaptureError) throw error;
      const message = silence.signal.aborted
        ? `The event stream was silent for ${silenceMs} ms.`
        : 'The connection of the event stream broke.';
      throw new NetworkError('NETWORK_ERROR', message, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  };

  const { data: stream, error, response } = await awaited(open(stop));
  const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!stream || !isEvents) throw errorOfResponse(response, error);
  onOpen?.();
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await awaited(reader.read());
      if (done) return;
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.event === 'error') throw errorOfEvent(event, response.headers);
        yield event;
      }
    }
  } finally {
    // A failed stream cannot be cancelled.
    await reader.cancel().catch(() => undefined);
  }
}

function errorOfEvent(event: ServerEvent, headers: Headers): WebcaptureError {
  const { code, message } = parseData(event);
  if (typeof code !== 'string' || typeof message !== 'string') throw unexpected(event);
  return errorOfCode(code as ErrorCode, message, {
    requestId: headers.get('x-request-id'),
    captureUuid: headers.get('x-capture-uuid'),
  });
}

function parseData(event: ServerEvent): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(event.data);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw unexpected(event, error);
  }
  throw unexpected(event);
}

/** The cause may be a proxy that cuts or rewrites responses. */
function unexpected({ event, data }: ServerEvent, cause?: unknown): WebcaptureError {
  const beginning = JSON.stringify(data.length <= 60 ? data : `${data.slice(0, 60)}…`);
  const message = `An event "${event}" of the stream has data that is not from a webcapture service: ${beginning}. Open the stream again.`;
  return new WebcaptureError('UNEXPECTED_RESPONSE', message, { cause });
}

/** Parses the format text/event-stream (WHATWG HTML, 9.2.6) in chunks of any size. */
export class EventParser {
  #rest = '';
  #event = '';
  #data: string[] = [];

  /** Returns the events that the chunk completes. */
  push(text: string): ServerEvent[] {
    this.#rest += text;
    const events: ServerEvent[] = [];
    for (;;) {
      const end = this.#rest.search(/[\r\n]/);
      // A CR at the end may be the first half of a CRLF.
      if (end === -1 || (this.#rest[end] === '\r' && end === this.#rest.length - 1)) return events;
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + (this.#rest.startsWith('\r\n', end) ? 2 : 1));
      const event = this.#take(line);
      if (event !== null) events.push(event);
    }
  }

  #take(line: string): ServerEvent | null {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    if (field === 'data') this.#data.push(value);
    return null;
  }

  #dispatch(): ServerEvent | null {
    const event = this.#data.length === 0 ? null : { event: this.#event || 'message', data: this.#data.join('\n') };
    this.#event = '';
    this.#data = [];
    return event;
  }
}
