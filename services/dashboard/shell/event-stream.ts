/**
 * Server-sent events over fetch: EventSource cannot send the Authorization header. A stream that is cut or falls silent is
 * opened again with backoff; one whose key no longer holds ends.
 */

export interface ServerEvent {
  /** `message` where the server named none. */
  readonly event: string;
  readonly data: string;
}

interface StreamProblem {
  readonly code: string;
  readonly message: string;
}

export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'waiting'; readonly retryInMs: number; readonly problem: StreamProblem }
  | { readonly kind: 'ended'; readonly problem: StreamProblem };

export interface FollowOptions {
  /** Sends the request; rejects with an error that has a `code` where the service refuses it. */
  readonly connect: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;
  readonly onEvent: (event: ServerEvent) => void;
  readonly onState: (state: StreamState) => void;
  readonly signal: AbortSignal;
  /** A stream without a byte for so long is taken for dead; the server sends a comment every 15 seconds. */
  readonly silenceMs?: number;
  /** Milliseconds before the next attempt. */
  readonly backoffMs?: (failures: number) => number;
}

/** Codes after which another attempt with the same key cannot succeed. */
const finalCodes: ReadonlySet<string> = new Set([
  'UNAUTHORIZED',
  'API_KEY_EXPIRED',
  'API_KEY_REVOKED',
  'FORBIDDEN',
  'NOT_FOUND',
]);

/** A stream that held for so long was a good one: the next attempt starts the backoff anew. */
const stableMs = 5000;

/** 1 s, doubled up to 30 s, and half of that by chance, so that a restarted front is not asked by all at once. */
const defaultBackoffMs = (failures: number) => Math.min(30_000, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);

/** Follows a stream until `signal` aborts or the server refuses the key. */
export async function followEvents(options: FollowOptions): Promise<void> {
  const { onState, signal, backoffMs = defaultBackoffMs } = options;
  let failures = 0;
  onState({ kind: 'connecting' });
  while (!signal.aborted) {
    const openedAt = performance.now();
    const { problem, retryAfterMs = 0 } = await readOnce(options);
    if (signal.aborted) return;
    if (finalCodes.has(problem.code)) {
      onState({ kind: 'ended', problem });
      return;
    }
    if (performance.now() - openedAt > stableMs) failures = 0;
    const retryInMs = Math.max(retryAfterMs, backoffMs(failures++));
    onState({ kind: 'waiting', retryInMs, problem });
    await pause(retryInMs, signal);
  }
}

interface Ending {
  readonly problem: StreamProblem;
  readonly retryAfterMs?: number;
}

/** Reads one stream to its end, and says why it ended. */
async function readOnce({ connect, onEvent, onState, signal, silenceMs = 45_000 }: FollowOptions): Promise<Ending> {
  const attempt = new AbortController();
  const abort = () => attempt.abort();
  signal.addEventListener('abort', abort, { once: true });
  let timer = setTimeout(abort, silenceMs);
  try {
    const reader = (await connect(attempt.signal)).getReader();
    onState({ kind: 'live' });
    const parser = new EventParser();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { problem: lost('The event stream was closed.') };
      clearTimeout(timer);
      timer = setTimeout(abort, silenceMs);
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.event === 'error') return { problem: problemOf(parseJson(event.data)) };
        onEvent(event);
      }
    }
  } catch (error) {
    const { retryAfterMs } = error as { retryAfterMs?: number | null };
    return { problem: problemOf(error), retryAfterMs: retryAfterMs ?? 0 };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    attempt.abort();
  }
}

const lost = (message: string): StreamProblem => ({ code: 'NETWORK_ERROR', message });

function problemOf(error: unknown): StreamProblem {
  if (!isObject(error) || typeof error['code'] !== 'string') return lost('The service cannot be reached.');
  return { code: error['code'], message: String(error['message']) };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** The format of text/event-stream (WHATWG HTML, 9.2.6), fed in pieces of any size. */
export class EventParser {
  #rest = '';
  #event = '';
  #data: string[] = [];

  /** The events that the text so far completes. */
  push(text: string): ServerEvent[] {
    this.#rest += text;
    const events: ServerEvent[] = [];
    for (;;) {
      const end = this.#rest.search(/[\r\n]/);
      // A CR at the very end may be the first half of a CRLF.
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
