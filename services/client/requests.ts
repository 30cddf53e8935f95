import createClient, { type Client } from 'openapi-fetch';
import { errorOfResponse } from './errors.ts';
import type { paths } from './openapi.ts';
import { send, type TransportOptions } from './transport.ts';
import type { Capture, CaptureProgress, Page } from './types.ts';

/** Options of every call of the client. */
export interface CallOptions {
  /** Aborts the call and its retries; the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | null | undefined;
}

/** Options of a capture call in addition to those of the capture. */
export interface CaptureCallOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters. For 24 hours, calls with the same key and options result in one capture. By default each call has a
   * random key, which its retries share.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of a capture call that follows the progress. */
export interface FollowCaptureOptions extends CaptureCallOptions {
  /**
   * Called with each progress event of the service. There is none for a response from the cache, or for a capture of another
   * call with the same Idempotency-Key. After the first event, the call is not retried if the capture fails.
   */
  readonly onProgress?: ((progress: CaptureProgress) => void) | undefined;
}

/** Options for the wait for a capture, or for a batch. */
export interface WaitOptions<State = Capture> extends CallOptions {
  /** Milliseconds until the call rejects with a RequestTimeoutError; the capture continues. By default there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Called with each state that was read, even if it has not changed. */
  readonly onState?: ((state: State) => void) | undefined;
}

export type RawClient = Client<paths>;

/** Paths whose POST requests have an Idempotency-Key. */
const idempotent: ReadonlySet<string> = new Set<keyof paths>(['/capture', '/captures/batch', '/sessions']);

/** Returns the openapi-fetch client of all paths. Its requests are retried, and those that create captures have an Idempotency-Key. */
export function createRawClient(url: string, headers: Record<string, string>, transport: TransportOptions): RawClient {
  const streamed = new WeakSet<Request>();
  const fetch = (request: Request) => send(request, { ...transport, isStreamed: streamed.has(request) });
  const raw = createClient<paths>({ baseUrl: url, headers, fetch });
  raw.use({
    onRequest({ schemaPath, request, options }) {
      if (options.parseAs === 'stream') streamed.add(request);
      const { method, headers: sent } = request;
      if (!idempotent.has(schemaPath) || method !== 'POST' || sent.has('idempotency-key')) return;
      request.headers.set('idempotency-key', randomKey());
    },
    async onResponse({ response, options }) {
      if (!response.ok) return;
      // A page is not a response of the service. Many websites return a page for every address.
      const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
      if (!isPage && (options.parseAs !== 'json' || isJson(await response.clone().text()))) return;
      await response.body?.cancel();
      throw errorOfResponse(response, null);
    },
  });
  return raw;
}

/** openapi-fetch also accepts an empty text. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text === '' ? 'null' : text);
    return true;
  } catch {
    return false;
  }
}

/** Browsers have crypto.randomUUID only on https pages. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The result of a call of openapi-fetch. */
export interface RawAnswer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Returns the `data` of a successful response. Throws the error of any other response. */
export async function dataOf<T>(call: Promise<RawAnswer<{ readonly data: T }>>): Promise<T> {
  const { data, error, response } = await call;
  // Another service may also respond with JSON.
  if (data?.data === undefined) throw errorOfResponse(response, error);
  return data.data;
}

/** Yields all items of a list. Each page is fetched when the items of the previous page have been consumed. */
export async function* itemsOf<T>(
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  for (;;) {
    const { items, nextCursor } = await fetchPage(cursor);
    yield* items;
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}

/**
 * Removes undefined from the types of query parameters, because openapi-fetch omits undefined parameters but its types
 * do not allow them.
 */
export const given = <T extends object>(query: T) => query as { [K in keyof T]?: Exclude<T[K], undefined> };
