import process from 'node:process';
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Bucket, File, Storage, StorageOptions } from '@google-cloud/storage';

/*
 * Google's library has no deadlines: a request ends only when the server ends it, and destroying a stream leaves its connection open.
 * Only this file adds deadlines (docs/adr/0013).
 */

/** Returns a function that creates clients of Google's library, which is imported here because only a bucket needs it. */
export async function loadStorage(): Promise<(options?: StorageOptions) => Storage> {
  const { Storage } = await import('@google-cloud/storage');

  class CheckedStorage extends Storage {
    /** Accepts only JSON, because the page of a proxy would otherwise look like an empty listing. */
    override request(...[request, done]: Parameters<Storage['request']>): void {
      super.request(request, (error, body, response) => {
        const isAnswer = request.method === 'DELETE' || (typeof body === 'object' && body !== null);
        done(error ?? (isAnswer ? null : new Error('the answer is not JSON')), body, response);
      });
    }
  }

  // Its retries have no deadline either, so only GcsClient retries.
  const retryOptions = { autoRetry: false, retryableErrorFn: () => false };
  return (options) => new CheckedStorage({ ...options, retryOptions });
}

/** Returns the stored bytes of an object from `start` to `end`, both inclusive. The caller verifies them. */
export function readStream(file: File, range: { readonly start?: number; readonly end?: number } = {}): Readable {
  const stream = file.createReadStream({ ...range, validation: false, decompress: false });
  // The library adds enough listeners to trigger a Node warning for each read.
  stream.once('response', (answer: EventEmitter) => answer.setMaxListeners(0));
  return stream;
}

const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };

/** The library reads these variables, and then sends its requests through a proxy. */
const isProxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => process.env[name]);

/**
 * Removes an object. Does not use the library, unless there is a proxy: thousands of files may expire in a second, and the library
 * takes four to six times the processor time for a request (docs/adr/0013). Rejects with the same errors as the library.
 */
export async function removeObject(
  bucket: Bucket,
  authorization: string | null,
  { name, generation }: { readonly name: string; readonly generation?: string },
): Promise<void> {
  if (isProxied) {
    const options = generation === undefined ? {} : { preconditionOpts: { ifGenerationMatch: generation } };
    await bucket.file(name, options).delete();
    return;
  }
  const path = `/storage/v1/b/${encodeURIComponent(bucket.name)}/o/${encodeURIComponent(name)}`;
  const url = new URL(bucket.storage.apiEndpoint + path);
  if (generation !== undefined) url.searchParams.set('ifGenerationMatch', generation);
  const [request, agent] =
    url.protocol === 'https:' ? [httpsRequest, agents['https:']] : [httpRequest, agents['http:']];
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = authorization === null ? {} : { authorization };
    request(url, { method: 'DELETE', agent, headers }, resolve).once('error', reject).end();
  });
  const data = await text(answer);
  const { statusCode: status = 0 } = answer;
  if (status >= 300) throw Object.assign(new Error(`status ${status}`), { status, response: { data } });
}

/** A connection without traffic for too long. */
class SilenceError extends Error {
  constructor(ms: number) {
    super(`the connection was silent for ${ms} ms`);
    this.name = 'SilenceError';
  }
}

/** The current call, because the library does not say which call made a request. */
const calls = new AsyncLocalStorage<Call>();

subscribe('http.client.request.created', (message) => {
  calls.getStore()?.watch((message as { readonly request: ClientRequest }).request);
});

/** One call of the library. When it ends, so do its requests. */
export class Call {
  readonly #silenceMs: number;
  readonly #idleMs: number;
  readonly #isStreamed: boolean;
  readonly #requests = new Set<ClientRequest>();
  #silence: SilenceError | undefined;
  #isOver = false;

  /**
   * @param silenceMs a connection without traffic for this long is destroyed
   * @param idleMs a pooled connection is closed when it was unused for this long
   * @param isStreamed the caller reads the answer at its own pace, and handles silence after the headers
   */
  constructor({ silenceMs, idleMs, isStreamed = false }: { silenceMs: number; idleMs: number; isStreamed?: boolean }) {
    this.#silenceMs = silenceMs;
    this.#idleMs = idleMs;
    this.#isStreamed = isStreamed;
  }

  /** Why a connection was destroyed; the library reports that only as text. */
  get silence(): Error | undefined {
    return this.#silence;
  }

  run<T>(work: () => T): T {
    return calls.run(this, work);
  }

  watch(request: ClientRequest): void {
    // The library does not know that the caller has left.
    if (this.#isOver) {
      giveUp(request);
      return;
    }
    this.#requests.add(request);
    const cut = () => {
      this.#silence ??= new SilenceError(this.#silenceMs);
      request.destroy(this.#silence);
      // The other pooled connections are probably broken too, so the next attempt opens a new one.
      closeIdle();
    };
    request.setTimeout(this.#silenceMs, cut);
    request.once('socket', (socket) => {
      markUsed(socket);
      if (socket.connecting) limitConnect(socket, this.#silenceMs, cut);
    });
    if (this.#isStreamed) {
      request.once('response', ({ statusCode = 0 }: IncomingMessage) => {
        if (statusCode < 300) request.setTimeout(0);
      });
    }
    request.once('close', () => {
      this.#requests.delete(request);
      if (request.socket !== null && !request.socket.destroyed) markIdle(request.socket, this.#idleMs);
    });
  }

  /** Closes the connections of requests that have not ended. */
  end(): void {
    this.#isOver = true;
    for (const request of this.#requests) giveUp(request);
  }
}

/** Closes the connection of a request. If the request were destroyed before it has a connection, that connection would stay open. */
function giveUp(request: ClientRequest): void {
  if (request.socket === null) request.once('socket', () => request.destroy());
  else request.destroy();
}

/** Limits the time of connecting, because the time limit of a request begins only afterwards. */
function limitConnect(socket: Socket, ms: number, cut: () => void): void {
  const timer = setTimeout(cut, ms);
  socket.once('connect', () => clearTimeout(timer));
  socket.once('close', () => clearTimeout(timer));
}

/** Pooled idle connections. The library has one pool for the process, without a time limit. */
const idle = new Map<Socket, NodeJS.Timeout>();

/** Closes the connection when it was idle for `idleMs`, because a middlebox may drop an idle connection silently. */
function markIdle(socket: Socket, idleMs: number): void {
  const close = () => {
    idle.delete(socket);
    socket.destroy();
  };
  idle.set(socket, setTimeout(close, idleMs).unref());
}

function markUsed(socket: Socket): void {
  clearTimeout(idle.get(socket));
  idle.delete(socket);
}

/** Closes all idle pooled connections. */
export function closeIdle(): void {
  for (const socket of idle.keys()) {
    markUsed(socket);
    socket.destroy();
  }
}
