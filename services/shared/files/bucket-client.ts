import type { Readable } from 'node:stream';
import { delay, onAbort, untilAborted, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { Attempt, closeIdle } from './bounded-storage.ts';
import type { ObjectLimits, OpenedObject } from './object-bucket.ts';
import { brokenAnswer, credentialsError, type ObjectError, type ObjectOperation } from './object-error.ts';

export interface BucketClientOptions {
  readonly bucket: string;
  /** Prefix of the names of all files in the bucket, such as `captures/`; none by default. */
  readonly prefix?: string;
  readonly log: Logger;
  /** Called when a request is retried. */
  readonly onRetry?: (operation: ObjectOperation, failure: ObjectError['failure']) => void;
  /** Time without traffic after which an attempt is aborted and retried. Default: 8 s, because tail latencies are seconds. */
  readonly silenceMs?: number;
  /** Maximum delay before the second attempt; it doubles with each attempt. Default: 400 ms. */
  readonly backoffMs?: number;
  /** Time limit for getting credentials. Default: 8 s. */
  readonly tokenMs?: number;
}

/** The library of a bucket. */
interface Library<L> {
  /** Creates the client of the library with the credentials that the library finds. */
  readonly open: () => L;
  /** Whether requests have no credentials. */
  readonly isAnonymous: (library: L) => boolean;
  /** Gets the credentials of requests. Returns their token if they have one. */
  readonly authorize: (library: L) => Promise<string | null>;
  readonly toError: (operation: ObjectOperation, thrown: unknown) => ObjectError;
}

/** The library and the limits for one attempt. */
export interface BucketAttempt<L> {
  readonly library: L;
  readonly token: string | null;
  /** Aborts when the attempt ends. */
  readonly signal: AbortSignal;
}

interface CallOptions<T> {
  /** Size of the request body. */
  readonly sentBytes?: number;
  /** Converts an expected error to a result. Returns undefined if the error is a failure. May throw another ObjectError instead. */
  readonly resultOf?: (error: ObjectError, signal: AbortSignal) => T | undefined | Promise<T | undefined>;
}

/** The answer to a request for the bytes of an object. */
export interface ObjectBody {
  readonly body: Readable;
  readonly isPartial: boolean;
  /** Whether the bytes are those of the requested generation. */
  readonly isRequested: boolean;
}

const maxBackoffMs = 5000;
const mebibyte = 1024 * 1024;

/**
 * Maximum amount of data that the operating system may still have to send when everything is written. On a slow line, sending it takes some
 * time.
 */
const maxUnsentBytes = 4 * mebibyte;

/** Makes the calls of the library of a bucket. Only {@link BucketClient.call} has their deadlines and retries. */
export class BucketClient<L> {
  readonly silenceMs: number;
  readonly backoffMs: number;
  readonly isAnonymous: boolean;
  readonly #options: BucketClientOptions;
  readonly #library: Library<L>;
  #current: L;

  constructor(options: BucketClientOptions, library: Library<L>) {
    this.silenceMs = options.silenceMs ?? 8000;
    this.backoffMs = options.backoffMs ?? 400;
    this.#options = options;
    this.#library = library;
    this.#current = library.open();
    this.isAnonymous = library.isAnonymous(this.#current);
  }

  /** The library with the current credentials. */
  get library(): L {
    return this.#current;
  }

  /**
   * Makes attempts until one succeeds or the deadline passes, with exponential backoff and full jitter, while the errors are
   * temporary. Retries a 401 once with a new token. Throws the last ObjectError.
   */
  call<T>(
    operation: ObjectOperation,
    limits: ObjectLimits,
    work: (attempt: BucketAttempt<L>) => Promise<T>,
    options: CallOptions<T> = {},
  ): Promise<T> {
    return this.#call(operation, limits, work, options);
  }

  /** @param options.isStreamed whether the result is a stream; its reader handles silence, and ends the attempt */
  async #call<T>(
    operation: ObjectOperation,
    { deadline, signal: end }: ObjectLimits,
    work: (attempt: BucketAttempt<L>, end: () => void) => Promise<T>,
    options: CallOptions<T> & { readonly isStreamed?: boolean },
  ): Promise<T> {
    if (Date.now() >= deadline) throw tooLate(operation, new Error('no attempt was made'));
    const timeUp = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
    const signal = end === undefined ? timeUp : AbortSignal.any([timeUp, end]);
    let hasRenewed = false;
    let before: ObjectError | undefined;
    for (let number = 1; ; number++) {
      try {
        return await this.#attempt(operation, signal, work, options);
      } catch (thrown) {
        const error = signal.aborted ? tooLate(operation, before ?? thrown) : this.#library.toError(operation, thrown);
        const isRefused: boolean = error.status === 401 && !hasRenewed && !this.isAnonymous;
        const longestMs = Math.min(maxBackoffMs, this.backoffMs * 2 ** (number - 1));
        const waitMs: number = isRefused ? 0 : Math.random() * longestMs;
        if (signal.aborted || (!error.transient && !isRefused) || Date.now() + waitMs >= deadline) {
          this.#options.log.warn({ err: error, operation, attempts: number }, 'bucket request failed');
          throw error;
        }
        hasRenewed ||= isRefused;
        before = error;
        this.noteRetry(error);
        await delay(waitMs, signal);
      }
    }
  }

  /** Logs and counts an attempt that failed and is retried. */
  noteRetry(error: ObjectError): void {
    const { operation, failure } = error;
    this.#options.onRetry?.(operation, failure);
    this.#options.log.debug({ err: error, operation }, 'retrying bucket request');
  }

  /** Makes one attempt. The attempt and its connections end at the latest when the signal aborts. */
  async #attempt<T>(
    operation: ObjectOperation,
    signal: AbortSignal,
    work: (attempt: BucketAttempt<L>, end: () => void) => Promise<T>,
    { sentBytes = 0, isStreamed = false, resultOf }: CallOptions<T> & { readonly isStreamed?: boolean },
  ): Promise<T> {
    const library = this.#current;
    const token = await this.#tokenFor(library, operation, signal);
    const silenceMs = this.silenceMs * (1 + Math.min(sentBytes, maxUnsentBytes) / (2 * mebibyte));
    const attempt = new Attempt(isStreamed ? 0 : silenceMs);
    const { end } = attempt;
    try {
      const result = await attempt.run(() => work({ library, token, signal: attempt.signal }, end), signal);
      if (!isStreamed) end();
      return result;
    } catch (thrown) {
      end();
      const error = this.#library.toError(operation, thrown);
      if (error.status === 401) this.#renew(library);
      // Other connections are probably broken too, so the next attempt uses a new one.
      if (error.failure === 'connection' && !signal.aborted) closeIdle();
      const result = await resultOf?.(error, signal);
      if (result !== undefined) return result;
      throw error;
    }
  }

  /**
   * Opens an object. Resolves when its first bytes arrive, or to null if the requested generation no longer exists. The caller reads the
   * rest at its own pace.
   */
  open(
    limits: ObjectLimits,
    { isWhole }: { readonly isWhole: boolean },
    work: (attempt: BucketAttempt<L>) => Promise<ObjectBody>,
    options: CallOptions<OpenedObject | null>,
  ): Promise<OpenedObject | null> {
    const firstPart = async (attempt: BucketAttempt<L>, end: () => void) => {
      const { body, isPartial, isRequested } = await work(attempt);
      // The reader of the body handles its errors. After the reader has ended, errors need another listener.
      body.on('error', () => undefined);
      onAbort(attempt.signal, () => body.destroy());
      if (!isRequested) return null;
      if (!isWhole && !isPartial) throw brokenAnswer('get', 'a range was answered with the whole object');
      const parts = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      const first = await parts.next();
      if (first.done === true) throw brokenAnswer('get', 'the answer was empty');
      return { parts, first: first.value, end };
    };
    return this.#call(
      'get',
      limits,
      async (attempt, end) => {
        const opened = await withDeadline(firstPart(attempt, end), this.silenceMs, 'the first bytes');
        if (opened === null) end();
        return opened;
      },
      { ...options, isStreamed: true },
    );
  }

  /** Gets a token before a request. A source of tokens that hangs can thus be distinguished from a bucket that hangs. */
  async #tokenFor(library: L, operation: ObjectOperation, signal: AbortSignal): Promise<string | null> {
    if (this.isAnonymous) return null;
    try {
      const asking = withDeadline(this.#library.authorize(library), this.#options.tokenMs ?? 8000, 'getting a token');
      return await untilAborted(asking, signal);
    } catch (error) {
      // Without a new library, all later calls would join the request that hangs.
      if (!signal.aborted) this.#renew(library);
      throw credentialsError(operation, error);
    }
  }

  /**
   * Replaces the library, which caches its credentials and the absence of their source. If many requests are refused at the same time,
   * replaces it only once.
   */
  #renew(refused: L): void {
    if (refused === this.#current) this.#current = this.#library.open();
  }
}

const tooLate = (operation: ObjectOperation, cause: unknown) =>
  brokenAnswer(
    operation,
    `the deadline has passed; the last error was: ${cause instanceof Error ? cause.message : String(cause)}`,
  );
