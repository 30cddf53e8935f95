import { request as httpsRequest } from 'node:https';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { isUnauthorized, KubeApiError, kindOf, type ApiErrorKind } from './api-error.ts';
import type { KubeAccess, LoadAccess } from './access.ts';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** From the root: `/api/v1/namespaces/x/pods`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** For the whole answer; default 5 s. */
  readonly limitMs?: number;
}

export interface ConnectionOptions {
  readonly load: LoadAccess;
  /** Gets each request that failed. */
  readonly onError?: (kind: ApiErrorKind) => void;
}

const defaultLimitMs = 5000;

/** How long the credentials are kept before they are read again, whatever happens: certificates are rotated, too. */
const maxAccessAgeMs = 300_000;

/**
 * Requests to one API server, over connections that are kept. A refused token is read anew and the request repeated once. It
 * throws a {@link KubeApiError} for what the server refuses, and an Error when it cannot be reached in time.
 */
export class KubeConnection {
  readonly #options: ConnectionOptions;
  #access: Promise<KubeAccess> | null = null;
  #loadedAt = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  async namespace(): Promise<string> {
    return (await this.#current()).namespace;
  }

  /** One request, one answer as parsed JSON. */
  async request<T>(request: KubeRequest): Promise<T> {
    return this.#reporting(async () => {
      const signal = AbortSignal.timeout(request.limitMs ?? defaultLimitMs);
      const response = await this.#authorized(request, signal);
      return JSON.parse(await text(response)) as T;
    });
  }

  /** A request whose answer goes on and on; the caller reads it, and ends it by the signal. */
  async open(request: KubeRequest, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#reporting(() => this.#authorized(request, signal));
  }

  /** Lets go of all connections. */
  async close(): Promise<void> {
    const access = await this.#access?.catch(() => null);
    access?.agent.destroy();
    this.#access = null;
  }

  async #reporting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#options.onError?.(kindOf(error));
      throw error;
    }
  }

  async #authorized(request: KubeRequest, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#send(request, signal);
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      this.#forget();
      return this.#send(request, signal);
    }
  }

  async #send(request: KubeRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const access = await this.#current();
    const response = await send(access, request, await access.headers(), signal);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw await refusal(request, status, response);
  }

  #current(): Promise<KubeAccess> {
    if (this.#access !== null && performance.now() - this.#loadedAt > maxAccessAgeMs) this.#forget();
    if (this.#access === null) {
      this.#loadedAt = performance.now();
      const loading = this.#options.load();
      this.#access = loading;
      loading.catch(() => {
        if (this.#access === loading) this.#access = null;
      });
    }
    return this.#access;
  }

  /** The old connections end with the requests that use them. */
  #forget(): void {
    this.#access = null;
  }
}

/** Resolves when the head of the answer is there. */
function send(
  access: KubeAccess,
  { method, path, query = {}, body }: KubeRequest,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = new URL(access.server.href.replace(/\/$/, '') + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const isPlain = url.protocol === 'http:';
  const data = body === undefined ? undefined : JSON.stringify(body);
  const options: RequestOptions = {
    method,
    signal,
    headers: {
      accept: 'application/json',
      'user-agent': 'webcapture-controller',
      ...(data === undefined
        ? {}
        : { 'content-type': contentTypes[method], 'content-length': Buffer.byteLength(data) }),
      ...headers,
    },
    ...(isPlain ? {} : { agent: access.agent }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = (isPlain ? httpRequest : httpsRequest)(url, options, (response) => {
      // Whoever reads it hears of what breaks it; before anybody does, nobody would.
      response.on('error', () => undefined);
      resolve(response);
    });
    outgoing.on('error', (error) => reject(signal.aborted ? late(method, path) : error));
    outgoing.end(data);
  });
}

// The library sends a json-patch unless told, which takes a list of operations: this is the merging one.
const contentTypes = {
  GET: 'application/json',
  POST: 'application/json',
  PUT: 'application/json',
  PATCH: 'application/merge-patch+json',
} as const;

const late = (method: string, path: string) => new Error(`${method} ${path}: no answer in time`);

async function refusal(
  { method, path }: KubeRequest,
  status: number,
  response: IncomingMessage,
): Promise<KubeApiError> {
  const what = `${method} ${path}`;
  const body = await text(response);
  try {
    const { reason = '', message = '' } = JSON.parse(body) as { reason?: string; message?: string };
    return new KubeApiError(what, status, reason, message);
  } catch {
    return new KubeApiError(what, status, '', body.slice(0, 200).trim());
  }
}
