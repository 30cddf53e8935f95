import process from 'node:process';
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Bucket, File, Storage, StorageOptions } from '@google-cloud/storage';
import { onAbort, untilAborted } from '../runtime/deadline.ts';

/*
 * Google's library has no deadlines: a request ends only when the server ends it, and destroying a stream leaves its connection open.
 * Only this file ends requests (docs/adr/0013).
 */

/** Returns a function that creates clients of Google's library. The library is imported here, because only a bucket needs it. */
export async function loadStorage(): Promise<(options?: StorageOptions) => Storage> {
  const { Storage } = await import('@google-cloud/storage');
  // The library's retries have no deadline either, so only BucketClient retries.
  const retryOptions = { autoRetry: false, retryableErrorFn: () => false };
  return (options) => {
    const storage = new Storage({ ...options, retryOptions });
    // Idle connections of the library's own pool have no time limit. The global agent of Node closes them after 5 s.
    addToRequests(storage, () => ({ forever: false }));
    return storage;
  };
}

type Interceptor = Storage['interceptors'][number];

/** Adds options to the requests of a client, a bucket or an object of the library. */
export function addToRequests(
  { interceptors }: Pick<Storage, 'interceptors'>,
  added: (options: { readonly qs?: object }) => object,
): void {
  interceptors.push({
    request: (options) => ({ ...options, ...added(options) }) as ReturnType<Interceptor['request']>,
  });
}

/** Returns the stored bytes of an object from `start` to `end`, both inclusive. The caller verifies them. */
export function readStream(file: File, range: { readonly start?: number; readonly end?: number }): Readable {
  const stream = file.createReadStream({ ...range, validation: false, decompress: false });
  // For each read, the library adds more listeners than the limit above which Node warns.
  stream.once('response', (answer: Readable) => answer.setMaxListeners(0));
  return stream;
}

/** The library reads these variables. If one is set, it sends its requests through a proxy. */
const isProxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => process.env[name]);

/**
 * Removes an object. Uses the library only if there is a proxy: thousands of files may expire in a second, and the library takes four to
 * six times the processor time for a request (docs/adr/0013). Rejects with the same errors as the library.
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
  const { request } = url.protocol === 'https:' ? https : http;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = authorization === null ? {} : { authorization };
    request(url, { method: 'DELETE', headers }, resolve).once('error', reject).end();
  });
  const data = await text(answer);
  const { statusCode: status = 0 } = answer;
  if (status >= 300) throw Object.assign(new Error(`status ${status}`), { status, response: { data } });
}

/** The current attempt. It is stored here, because the library does not report which call made a request. */
const attempts = new AsyncLocalStorage<Attempt>();

subscribe('http.client.request.created', (message) => {
  attempts.getStore()?.watch((message as { readonly request: ClientRequest }).request);
});

/** One attempt of a call. When the attempt ends, its requests and their connections end too. */
export class Attempt {
  readonly #silenceMs: number;
  readonly #over = new AbortController();

  /** @param silenceMs time without traffic on a connection after which the attempt ends; 0 for no limit */
  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
  }

  /** Runs a part of the attempt. Rejects when the signal aborts, or when a connection is silent. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return untilAborted(attempts.run(this, work), AbortSignal.any([signal, this.#over.signal]));
  }

  watch(request: ClientRequest): void {
    const stopListening = onAbort(this.#over.signal, () => destroy(request));
    request.once('close', stopListening);
    if (this.#silenceMs === 0) return;
    request.once('socket', (socket) => {
      const cut = () => this.#over.abort(new Error(`the connection was silent for ${this.#silenceMs} ms`));
      // A timeout of the request would begin only when the socket is connected.
      socket.setTimeout(this.#silenceMs);
      socket.on('timeout', cut);
      request.once('close', () => socket.off('timeout', cut));
    });
  }

  /** Aborts when the attempt ends. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  readonly end = (): void => this.#over.abort();
}

/** If a request is destroyed before it has a connection, that connection would stay open. */
function destroy(request: ClientRequest): void {
  if (request.socket === null) request.once('socket', () => request.destroy());
  else request.destroy();
}

/** Closes the idle connections of this process. */
export function closeIdle(): void {
  for (const { freeSockets } of [http.globalAgent, https.globalAgent]) {
    for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
  }
}
