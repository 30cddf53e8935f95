import type { IncomingMessage } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { withDeadline } from '../../lifecycle/deadline.ts';
import { delay } from '../../lifecycle/delay.ts';
import { untilAborted } from '../../lifecycle/until-aborted.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { BucketRights } from './bucket-rights.ts';
import { CredentialsError, type Credentials } from './credentials.ts';
import { errorOfAnswer, GcsError, toGcsError, type GcsOperation } from './gcs-error.ts';
import { Wire, type WireRequest } from './wire.ts';

export interface GcsClientOptions {
  readonly bucket: string;
  /** Where the JSON API is, without a slash at the end. */
  readonly endpoint: string;
  /** Null: the endpoint asks for none. */
  readonly credentials: Credentials | null;
  readonly log: Logger;
  /** A call is made again. */
  readonly onRetry?: (operation: GcsOperation, failure: GcsError['failure']) => void;
  /** An attempt on which nothing moves for so long is cut and made again. By default 8 s: tail latencies are seconds. */
  readonly silenceMs?: number;
  /** A connection that is kept is closed when nobody has used it for so long. By default 30 s. */
  readonly idleMs?: number;
  /** The most before the second attempt; it doubles from one to the next. By default 400 ms. */
  readonly backoffMs?: number;
  /** Up to so many bytes, one request carries a whole upload. By default 8 MiB. */
  readonly mostBytesAtOnce?: number;
}

/** One attempt of a call, as the bucket sees it. */
export interface GcsRequest extends Pick<WireRequest, 'method' | 'headers' | 'body' | 'isStreamed'> {
  /** Below the endpoint, or a whole address (of a resumable upload), which gets no credentials. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Statuses beyond 2xx that are answers, not errors. */
  readonly accept?: readonly number[];
}

/** Within which attempts are made. */
export interface GcsLimits {
  /** Unix milliseconds. */
  readonly deadline: number;
  /** Ends the call before. */
  readonly signal?: AbortSignal;
}

const mostBackoffMs = 5000;
const mebibyte = 1024 * 1024;

/**
 * Calls of the JSON API of Cloud Storage. Google's own library sends uploads that nobody can cut, and its retries know
 * neither a deadline nor what an attempt was about, so it is asked for credentials only.
 */
export class GcsClient {
  readonly bucket: string;
  readonly silenceMs: number;
  readonly mostBytesAtOnce: number;
  readonly backoffMs: number;
  readonly rights = new BucketRights(this);
  readonly #options: GcsClientOptions;
  readonly #wire: Wire;

  constructor(options: GcsClientOptions) {
    this.bucket = options.bucket;
    this.silenceMs = options.silenceMs ?? 8000;
    this.mostBytesAtOnce = options.mostBytesAtOnce ?? 8 * mebibyte;
    this.backoffMs = options.backoffMs ?? 400;
    this.#options = options;
    this.#wire = new Wire(options.idleMs);
  }

  get credentials(): Credentials | null {
    return this.#options.credentials;
  }

  /** Where the objects of the bucket are, or one of them. */
  objectPath(name?: string): string {
    const objects = `/storage/v1/b/${encodeURIComponent(this.bucket)}/o`;
    return name === undefined ? objects : `${objects}/${encodeURIComponent(name)}`;
  }

  /** Where objects are uploaded to. */
  get uploadPath(): string {
    return `/upload${this.objectPath()}`;
  }

  /**
   * Makes attempts until one succeeds, with exponential back-off and full jitter between them, as long as what they fail
   * of may pass and the deadline is not there. A 401 gets one more try with a new token. Throws the last GcsError.
   */
  async retry<T>(
    operation: GcsOperation,
    { deadline, signal: end }: GcsLimits,
    attempt: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (Date.now() >= deadline) throw tooLate(operation, new Error('nothing was tried'));
    const { log, credentials } = this.#options;
    const timeUp = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
    const signal = end === undefined ? timeUp : AbortSignal.any([timeUp, end]);
    let hasRenewed = false;
    let before: GcsError | undefined;
    for (let number = 1; ; number++) {
      try {
        return await attempt(signal);
      } catch (thrown) {
        const error = signal.aborted ? tooLate(operation, before ?? thrown) : toGcsError(operation, thrown);
        const isRefused: boolean = error.status === 401 && !hasRenewed && credentials !== null;
        const waitMs: number = isRefused
          ? 0
          : Math.random() * Math.min(mostBackoffMs, this.backoffMs * 2 ** (number - 1));
        if (signal.aborted || (!error.transient && !isRefused) || Date.now() + waitMs >= deadline) {
          log.warn({ err: error, operation, attempts: number }, 'a call of the bucket failed');
          throw error;
        }
        hasRenewed ||= isRefused;
        this.noteRetry(operation, error);
        before = error;
        await delay(waitMs, signal);
      }
    }
  }

  /** An attempt failed that is made again. */
  noteRetry(operation: GcsOperation, thrown: unknown): void {
    const error = toGcsError(operation, thrown);
    this.#options.onRetry?.(operation, error.failure);
    this.#options.log.debug({ err: error, operation }, 'a call of the bucket is made again');
  }

  /** One attempt: resolves with the head of an answer of 2xx or of an accepted status, else throws. */
  async open(operation: GcsOperation, request: GcsRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, headers, body = [], path, query = {}, accept = [], isStreamed = false } = request;
    const isSession = /^https?:/.test(path);
    const url = new URL(isSession ? path : this.#options.endpoint + path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const own = isSession ? {} : await untilAborted(this.#authorization(operation), signal);
    const answer = await this.#wire.send({
      method,
      url,
      headers: { ...headers, ...own },
      body,
      signal,
      silenceMs: this.silenceMs * (1 + unsent(body) / (2 * mebibyte)),
      isStreamed,
    });
    const { statusCode: status = 0 } = answer;
    if ((status >= 200 && status < 300) || accept.includes(status)) return answer;
    if (status === 401 && !isSession) this.credentials?.renew(own);
    throw errorOfAnswer(operation, status, await this.#text(answer));
  }

  /** One attempt whose answer is read whole; `json` is null when there is none. */
  async ask(
    operation: GcsOperation,
    request: GcsRequest,
    signal: AbortSignal,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; text: string; json: unknown }> {
    const answer = await this.open(operation, request, signal);
    const body = await this.#text(answer);
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: body, json: parseOrNull(body) };
  }

  /** One attempt whose answer is read whole, as the bytes of a small object. */
  async bytes(operation: GcsOperation, request: GcsRequest, signal: AbortSignal): Promise<Buffer> {
    const answer = await this.open(operation, request, signal);
    try {
      return await withDeadline(buffer(answer), this.silenceMs, 'the answer’s body');
    } catch (error) {
      answer.destroy();
      throw error;
    }
  }

  /** A call with its retries. */
  call(operation: GcsOperation, request: GcsRequest, limits: GcsLimits): ReturnType<GcsClient['ask']> {
    return this.retry(operation, limits, (signal) => this.ask(operation, request, signal));
  }

  close(): void {
    this.#wire.close();
  }

  async #authorization(operation: GcsOperation): Promise<Readonly<Record<string, string>>> {
    if (this.#options.credentials === null) return {};
    try {
      return await this.#options.credentials.headers();
    } catch (error) {
      const { message: detail, transient } =
        error instanceof CredentialsError ? error : { message: String(error), transient: false };
      throw new GcsError(operation, { failure: 'credentials', detail, transient }, { cause: error });
    }
  }

  #text(answer: IncomingMessage): Promise<string> {
    return withDeadline(text(answer), this.silenceMs, 'the answer’s body').catch((error: unknown) => {
      answer.destroy();
      throw error;
    });
  }
}

/** What may still be in the system's buffers when all is written: on a slow line it takes a while to leave. */
const unsent = (body: readonly Uint8Array[]) =>
  Math.min(
    body.reduce((sum, part) => sum + part.length, 0),
    4 * mebibyte,
  );

function tooLate(operation: GcsOperation, cause: unknown): GcsError {
  const detail = `the time was up; before: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new GcsError(operation, { failure: 'connection', detail, transient: true }, { cause });
}

function parseOrNull(body: string): unknown {
  // A removal is answered without a body, and thousands may come in a second.
  if (body === '') return null;
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
