import { errorOfResponse, NetworkError, RequestTimeoutError } from './errors.ts';

/** How requests are sent. */
export interface TransportOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** How often a request is sent again at most. */
  readonly maxRetries: number;
  /** Milliseconds until an attempt is given up. */
  readonly timeoutMs: number;
}

/** The most that is waited for before a retry. A server that asks for more gets no retry; the caller learns what it asked for. */
const maxRetryDelayMs = 120_000;
const firstBackoffMs = 500;
const maxBackoffMs = 8000;

/**
 * Sends a request, and sends it again where a repetition is safe and can help.
 *
 * @param isStreamed whether the body of a successful answer is left to be read; any other has arrived as a whole, within the time limit
 * @returns the last answer, whatever its status
 * @throws NetworkError, RequestTimeoutError, and the reason of the request's signal when it is aborted
 */
export async function send(
  request: Request,
  options: TransportOptions & { readonly isStreamed: boolean },
): Promise<Response> {
  const { url, method, headers, signal } = request;
  // Text, not a stream: only so can it be sent more than once, to any implementation of fetch.
  const body = method === 'GET' || method === 'HEAD' ? '' : await request.text();
  const init = { method, headers, ...(body === '' ? {} : { body }) };
  const isSafe = method !== 'POST' || headers.has('idempotency-key');
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    const mayRetry = attempt < options.maxRetries;
    try {
      const response = await sendOnce(url, init, signal, options);
      if (response.ok || !mayRetry) return response;
      const delayMs = await retryDelayMs(response, { isSafe, attempt });
      if (delayMs === null) return response;
      await response.body?.cancel();
      await sleep(delayMs, signal);
    } catch (error) {
      if (!(error instanceof NetworkError) || !isSafe || !mayRetry) throw error;
      await sleep(backoffMs(attempt), signal);
    }
  }
}

async function sendOnce(
  url: string,
  init: RequestInit,
  signal: AbortSignal,
  { fetch, timeoutMs, isStreamed }: TransportOptions & { readonly isStreamed: boolean },
): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.any([signal, timeout.signal]) });
    if (response.ok && isStreamed) return response;
    const { status, statusText, headers } = response;
    const body = await response.arrayBuffer();
    // Answers such as 204 and 304 must not have a body, not even an empty one.
    return new Response(body.byteLength === 0 ? null : body, { status, statusText, headers });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (timeout.signal.aborted) {
      throw new RequestTimeoutError('TIMEOUT', `No answer came within ${timeoutMs} ms.`, { cause: error });
    }
    throw new NetworkError('NETWORK_ERROR', `The request could not be sent: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** How long to wait before a failed request is sent again; null: it is not. */
async function retryDelayMs(
  response: Response,
  { isSafe, attempt }: { isSafe: boolean; attempt: number },
): Promise<number | null> {
  const body: unknown = isJson(response)
    ? await response
        .clone()
        .json()
        .catch(() => null)
    : null;
  // GET /status and GET /status/engine answer 503 when the service is not operational: that is what was asked for.
  if (typeof body === 'object' && body !== null && 'lastCheckedAt' in body) return null;
  const { retryable, retryAfterMs } = errorOfResponse(response, body);
  // What was refused by a limit has not been begun.
  if (!retryable || !(isSafe || response.status === 429)) return null;
  if (retryAfterMs !== null && retryAfterMs > maxRetryDelayMs) return null;
  return Math.max(retryAfterMs ?? 0, backoffMs(attempt));
}

/** Half of it is random, so that clients that failed together do not come back together. */
function backoffMs(attempt: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Resolves after a time; rejects with the signal's reason when it is aborted before. */
export function sleep(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const isJson = ({ headers }: Response) => /^application\/([\w.+-]+\+)?json\b/i.test(headers.get('content-type') ?? '');

/** Node's fetch says "fetch failed", and why in the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}

/** Returns the address of a service without slashes at its end. In a browser it may be relative to the page. */
export function absoluteUrl(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const absolute = URL.canParse(url, page) ? new URL(url, page) : null;
  if (absolute === null || !/^https?:$/.test(absolute.protocol)) {
    throw new TypeError(`url must be the http or https address of a webcapture service, not ${JSON.stringify(url)}`);
  }
  return absolute.href.replace(/\/+$/, '');
}
