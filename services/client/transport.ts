import { errorOfResponse, NetworkError, RequestTimeoutError } from './errors.ts';

/** Options for sending requests. */
export interface TransportOptions {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Maximum number of retries of a request. */
  readonly maxRetries: number;
  /** Timeout of an attempt in milliseconds. */
  readonly timeoutMs: number;
}

/** Maximum wait before a retry. If a server requires more, the request is not retried and the error contains the time. */
const maxRetryDelayMs = 120_000;
const firstBackoffMs = 500;
const maxBackoffMs = 8000;

/**
 * Sends a request, with retries where they are safe and can succeed.
 *
 * @param isStreamed whether the body of a successful response is returned unread; other bodies have been read within the timeout
 * @returns the last response, with any status
 * @throws NetworkError, RequestTimeoutError, and the reason of the request's signal if it is aborted
 */
export async function send(
  request: Request,
  options: TransportOptions & { readonly isStreamed: boolean },
): Promise<Response> {
  const { url, method, headers, signal } = request;
  // A text can be sent more than once by any implementation of fetch. A stream cannot.
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
    // Responses such as 204 and 304 must not have a body, not even an empty one.
    return new Response(body.byteLength === 0 ? null : body, { status, statusText, headers });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (timeout.signal.aborted) {
      throw new RequestTimeoutError('TIMEOUT', `No response within ${timeoutMs} ms.`, { cause: error });
    }
    throw new NetworkError('NETWORK_ERROR', `The request could not be sent: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the wait before the retry of a failed request; null if it must not be retried. */
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
  // GET /status and GET /status/engine return 503 when the service is not operational. This is the requested result.
  if (typeof body === 'object' && body !== null && 'lastCheckedAt' in body) return null;
  const { retryable, retryAfterMs } = errorOfResponse(response, body);
  // A request that a limit refused has had no effect, so it can be repeated.
  if (!retryable || !(isSafe || response.status === 429)) return null;
  if (retryAfterMs !== null && retryAfterMs > maxRetryDelayMs) return null;
  return Math.max(retryAfterMs ?? 0, backoffMs(attempt));
}

/** Half of the wait is random, so that clients that fail together do not retry together. */
function backoffMs(attempt: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Resolves after a time; rejects with the signal's reason if it is aborted first. */
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

/** The error of Node's fetch says only "fetch failed"; its cause contains the reason. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}

/** Returns the address of a service without trailing slashes. In a browser it may be relative to the page. */
export function absoluteUrl(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const absolute = URL.canParse(url, page) ? new URL(url, page) : null;
  if (absolute === null || !/^https?:$/.test(absolute.protocol)) {
    throw new TypeError(`url must be the http or https address of a webcapture service, not ${JSON.stringify(url)}`);
  }
  return absolute.href.replace(/\/+$/, '');
}
