import type { Bucket, Storage } from '@google-cloud/storage';
import { delay, untilAborted, withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { Attempt, closeIdle } from './bounded-storage.ts';
import { brokenAnswer, credentialsError, type GcsError, type GcsOperation, toGcsError } from './gcs-error.ts';

export interface GcsClientOptions {
  readonly bucket: string;
  /** Prefix of the names of all files in the bucket, such as `captures/`; none by default. */
  readonly prefix?: string;
  /** Opens Google's library with the credentials that it finds: a key file, those of gcloud, or the metadata server. */
  readonly open: () => Storage;
  readonly log: Logger;
  /** Called when a request is retried. */
  readonly onRetry?: (operation: GcsOperation, failure: GcsError['failure']) => void;
  /**
   * An attempt without traffic for this long is aborted and retried. Default: 8 s, because tail latencies are seconds.
   */
  readonly silenceMs?: number;
  /** Maximum delay before the second attempt; it doubles with each attempt. Default: 400 ms. */
  readonly backoffMs?: number;
  /** Uploads up to this size in bytes use a single request. Default: 8 MiB. */
  readonly maxRequestBytes?: number;
  /** Time limit for getting a token. Default: 8 s. */
  readonly tokenMs?: number;
}

/** Limits of a call with all its attempts. */
export interface GcsLimits {
  /** Unix milliseconds. */
  readonly deadline: number;
  /** Ends the call earlier. */
  readonly signal?: AbortSignal;
}

/** What an attempt works with. */
export interface GcsAttempt {
  readonly bucket: Bucket;
  readonly token: string | null;
  /** Ends the attempt, and closes its connections. */
  readonly end: () => void;
  /** Aborts when the attempt ends. */
  readonly signal: AbortSignal;
}

interface CallOptions<T> {
  /** Size of the request body. */
  readonly sentBytes?: number;
  /** The result is a stream, whose reader handles silence and ends the attempt. */
  readonly isStreamed?: boolean;
  /** Returns the result that an error means; undefined if it is an error. May throw another GcsError instead. */
  readonly resultOf?: (error: GcsError, signal: AbortSignal) => T | undefined | Promise<T | undefined>;
}

const maxBackoffMs = 5000;
const mebibyte = 1024 * 1024;

/** Data that the operating system may still have to send when everything is written; this takes a while on a slow line. */
const maxUnsentBytes = 4 * mebibyte;

/** How long the permissions are cached, and the timeout of querying them. */
const grantedMs = 60_000;
const askMs = 5000;

/** Calls of a bucket with Google's library. {@link GcsClient.call} is the only place with their deadlines and retries. */
export class GcsClient {
  readonly bucket: string;
  readonly prefix: string;
  readonly silenceMs: number;
  readonly maxRequestBytes: number;
  readonly backoffMs: number;
  /** Whether requests have no credentials, as with an emulator. */
  readonly isAnonymous: boolean;
  readonly #options: GcsClientOptions;
  #library: Bucket;
  #granted: Promise<readonly string[]> = Promise.resolve([]);
  #grantedUntil = 0;

  constructor(options: GcsClientOptions) {
    this.bucket = options.bucket;
    this.prefix = options.prefix ?? '';
    this.silenceMs = options.silenceMs ?? 8000;
    this.maxRequestBytes = options.maxRequestBytes ?? 8 * mebibyte;
    this.backoffMs = options.backoffMs ?? 400;
    this.#options = options;
    this.#library = options.open().bucket(this.bucket);
    const { customEndpoint, useAuthWithCustomEndpoint } = this.#library.storage;
    this.isAnonymous = customEndpoint && useAuthWithCustomEndpoint !== true;
  }

  /**
   * Makes attempts until one succeeds or the deadline passes, with exponential backoff and full jitter, while the errors are
   * temporary. Retries a 401 once with a new token. Throws the last GcsError.
   */
  async call<T>(
    operation: GcsOperation,
    { deadline, signal: end }: GcsLimits,
    work: (attempt: GcsAttempt) => Promise<T>,
    options: CallOptions<T> = {},
  ): Promise<T> {
    if (Date.now() >= deadline) throw tooLate(operation, new Error('no attempt was made'));
    const timeUp = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
    const signal = end === undefined ? timeUp : AbortSignal.any([timeUp, end]);
    let hasRenewed = false;
    let before: GcsError | undefined;
    for (let number = 1; ; number++) {
      try {
        return await this.#attempt(operation, signal, work, options);
      } catch (thrown) {
        const error = signal.aborted ? tooLate(operation, before ?? thrown) : toGcsError(operation, thrown);
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
  noteRetry(error: GcsError): void {
    const { operation, failure } = error;
    this.#options.onRetry?.(operation, failure);
    this.#options.log.debug({ err: error, operation }, 'retrying bucket request');
  }

  /** Makes one attempt, which ends at the latest when the signal aborts; its connections are then closed. */
  async #attempt<T>(
    operation: GcsOperation,
    signal: AbortSignal,
    work: (attempt: GcsAttempt) => Promise<T>,
    { sentBytes = 0, isStreamed = false, resultOf }: CallOptions<T>,
  ): Promise<T> {
    const bucket = this.#library;
    const token = this.isAnonymous ? null : await this.#tokenFor(bucket, operation, signal);
    const silenceMs = this.silenceMs * (1 + Math.min(sentBytes, maxUnsentBytes) / (2 * mebibyte));
    const attempt = new Attempt(isStreamed ? 0 : silenceMs);
    const { end } = attempt;
    try {
      const result = await attempt.run(() => work({ bucket, token, end, signal: attempt.signal }), signal);
      if (!isStreamed) end();
      return result;
    } catch (thrown) {
      end();
      const error = toGcsError(operation, thrown);
      if (error.status === 401) this.#renew(bucket);
      // Other connections are probably broken too, so the next attempt opens a new one.
      if (error.failure === 'connection' && !signal.aborted) closeIdle();
      const result = await resultOf?.(error, signal);
      if (result !== undefined) return result;
      throw error;
    }
  }

  /** Gets a token before a request, so that a source of tokens that hangs can be distinguished from a bucket that hangs. */
  async #tokenFor(bucket: Bucket, operation: GcsOperation, signal: AbortSignal): Promise<string | null> {
    const asking = bucket.storage.authClient.getRequestHeaders();
    try {
      const limited = withDeadline(asking, this.#options.tokenMs ?? 8000, 'getting a token');
      return (await untilAborted(limited, signal)).get('authorization');
    } catch (error) {
      // All later calls would join a request that hangs.
      if (!signal.aborted) this.#renew(bucket);
      throw credentialsError(operation, error);
    }
  }

  /** Replaces the library, which caches its token and the absence of a metadata server. Many refusals at once replace it once. */
  #renew(refused: Bucket): void {
    if (refused === this.#library) this.#library = this.#options.open().bucket(this.bucket);
  }

  /** Returns a V4 link to read an object without further credentials until `expiresAt` (Unix ms). */
  async signLink(name: string, expiresAt: number): Promise<string> {
    const file = this.#library.file(this.prefix + name);
    const [link] = await file.getSignedUrl({ version: 'v4', action: 'read', expires: expiresAt });
    return link;
  }

  /**
   * The result null of an error that means that an object does not exist. Without the right to list, a bucket answers 403
   * instead of 404 to hide which names exist. A 403 counts as missing while the bucket grants the refused right.
   */
  readonly nullIfMissing = async (error: GcsError, signal: AbortSignal): Promise<null | undefined> => {
    if (error.isObjectMissing) return null;
    if (!error.isForbidden || !error.detail.includes('(or it may not exist)')) return undefined;
    const granted = await untilAborted(this.#rights(), signal);
    return granted.includes(`storage.objects.${error.operation}`) ? null : undefined;
  };

  /**
   * Returns the permissions that the bucket grants, according to a response of the last minute; none if they cannot be queried, as
   * with emulators. Every client may query its own permissions. The result does not include conditional ones, for instance on a prefix.
   */
  #rights(): Promise<readonly string[]> {
    if (Date.now() < this.#grantedUntil) return this.#granted;
    const rights = ['storage.objects.get', 'storage.objects.delete'];
    const asking = this.call('testPermissions', { deadline: Date.now() + askMs }, async ({ bucket }) => {
      const [granted] = await bucket.iam.testPermissions(rights);
      return rights.filter((right) => granted[right] === true);
    });
    this.#grantedUntil = Date.now() + grantedMs;
    this.#granted = asking.catch(() => {
      this.#grantedUntil = 0;
      return [];
    });
    return this.#granted;
  }

  /** Closes idle connections. */
  close(): void {
    closeIdle();
  }
}

const tooLate = (operation: GcsOperation, cause: unknown) =>
  brokenAnswer(
    operation,
    `the deadline has passed; the last error was: ${cause instanceof Error ? cause.message : String(cause)}`,
  );
