import createClient, { type Client } from 'openapi-fetch';
import { errorOfResponse } from './errors.ts';
import type { paths } from './openapi.ts';
import { send, type TransportOptions } from './transport.ts';
import type { Page } from './types.ts';

/** What every call of the client takes. */
export interface CallOptions {
  /** Ends the call, with its retries; the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | null | undefined;
}

export type RawClient = Client<paths>;

/** The openapi-fetch client of all paths. Its requests are retried; POST /capture has an Idempotency-Key. */
export function createRawClient(url: string, headers: Record<string, string>, transport: TransportOptions): RawClient {
  const streamed = new WeakSet<Request>();
  const fetch = (request: Request) => send(request, { ...transport, isStreamed: streamed.has(request) });
  const raw = createClient<paths>({ baseUrl: url, headers, fetch });
  raw.use({
    onRequest({ schemaPath, request, options }) {
      if (options.parseAs === 'stream') streamed.add(request);
      if (schemaPath !== '/capture' || request.method !== 'POST' || request.headers.has('idempotency-key')) return;
      request.headers.set('idempotency-key', randomKey());
    },
    async onResponse({ response, options }) {
      if (!response.ok) return;
      // Many a website has a page for every address.
      const isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
      if (!isPage && (options.parseAs !== 'json' || isJson(await response.clone().text()))) return;
      await response.body?.cancel();
      throw errorOfResponse(response, null);
    },
  });
  return raw;
}

/** An empty text, too, is one that openapi-fetch can read. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text === '' ? 'null' : text);
    return true;
  } catch {
    return false;
  }
}

/** Not crypto.randomUUID, which browsers have on pages of https only. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What openapi-fetch resolves with. */
export interface RawAnswer<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** The `data` of a successful answer's envelope. Throws the error that any other answer stands for. */
export async function dataOf<T>(call: Promise<RawAnswer<{ readonly data: T }>>): Promise<T> {
  const { data, error, response } = await call;
  // Another service may answer in JSON, too.
  if (data?.data === undefined) throw errorOfResponse(response, error);
  return data.data;
}

/** All items of a list, page by page, each page fetched when the one before it has been used up. */
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

/** The parameters of a query that are there: openapi-fetch leaves out what is undefined, which its types do not know. */
export const given = <T extends object>(query: T) => query as { [K in keyof T]?: Exclude<T[K], undefined> };
