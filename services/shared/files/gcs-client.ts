import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Bucket, Storage } from '@google-cloud/storage';
import { delay, untilAborted } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logger.ts';
import { Call, closeIdle } from './bounded-storage.ts';
import { Credentials, CredentialsError } from './gcs-credentials.ts';
import { GcsError, type GcsOperation, toGcsError } from './gcs-error.ts';

export interface GcsClientOptions {
  readonly bucket: string;
  /** Prefix of the names of all files in the bucket, such as `captures/`; none by default. */
  readonly prefix?: string;
  /** Opens Google's library with the current credentials. */
  readonly open: () => Storage;
  readonly log: Logger;
  /** Called when a request is retried. */
  readonly onRetry?: (operation: GcsOperation, failure: GcsError['failure']) => void;
  /**
   * An attempt without traffic for this long is aborted and retried. Default: 8 s, because tail latencies are seconds.
   */
  readonly silenceMs?: number;
  /** An idle pooled connection is closed after this time. Default: 30 s. */
  readonly idleMs?: number;
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

/** The head of a response whose body the caller reads. */
export interface Download {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
  /** Closes the connection unless the body was read completely. */
  end(): void;
}

const maxBackoffMs = 5000;
const mebibyte = 1024 * 1024;

/** Calls of a bucket with Google's library. This class is the only place with deadlines and retries of these calls. */
export class GcsClient {
  readonly bucket: string;
  readonly prefix: string;
  readonly silenceMs: number;
  readonly maxRequestBytes: number;
  readonly backoffMs: number;
  readonly credentials: Credentials;
  readonly rights = new BucketRights(this);
  readonly #options: GcsClientOptions;
  readonly #idleMs: number;

  constructor(options: GcsClientOptions) {
    this.bucket = options.bucket;
    this.prefix = options.prefix ?? '';
    this.silenceMs = options.silenceMs ?? 8000;
    this.maxRequestBytes = options.maxRequestBytes ?? 8 * mebibyte;
    this.backoffMs = options.backoffMs ?? 400;
    this.credentials = new Credentials(options.open, options.bucket, options.tokenMs);
    this.#idleMs = options.idleMs ?? 30_000;
    this.#options = options;
  }

  /**
   * Makes attempts until one succeeds or the deadline passes, with exponential backoff and full jitter, while the errors are
   * temporary. Retries a 401 once with a new token. Throws the last GcsError.
   */
  async retry<T>(
    operation: GcsOperation,
    { deadline, signal: end }: GcsLimits,
    attempt: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (Date.now() >= deadline) throw tooLate(operation, new Error('no attempt was made'));
    const { log } = this.#options;
    const timeUp = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
    const signal = end === undefined ? timeUp : AbortSignal.any([timeUp, end]);
    let hasRenewed = false;
    let before: GcsError | undefined;
    for (let number = 1; ; number++) {
      try {
        return await attempt(signal);
      } catch (thrown) {
        const error = signal.aborted ? tooLate(operation, before ?? thrown) : toGcsError(operation, thrown);
        const isRefused: boolean = error.status === 401 && !hasRenewed && !this.credentials.isAnonymous;
        const waitMs: number = isRefused
          ? 0
          : Math.random() * Math.min(maxBackoffMs, this.backoffMs * 2 ** (number - 1));
        if (signal.aborted || (!error.transient && !isRefused) || Date.now() + waitMs >= deadline) {
          log.warn({ err: error, operation, attempts: number }, 'bucket request failed');
          throw error;
        }
        hasRenewed ||= isRefused;
        this.noteRetry(operation, error);
        before = error;
        await delay(waitMs, signal);
      }
    }
  }

  /** Logs and counts an attempt that failed and is retried. */
  noteRetry(operation: GcsOperation, thrown: unknown): void {
    const error = toGcsError(operation, thrown);
    this.#options.onRetry?.(operation, error.failure);
    this.#options.log.debug({ err: error, operation }, 'retrying bucket request');
  }

  /**
   * Makes one attempt, which ends at the latest when the signal aborts; its connections are then closed. Throws a GcsError.
   *
   * @param sentBytes size of the request body
   */
  async attempt<T>(
    operation: GcsOperation,
    signal: AbortSignal,
    work: (bucket: Bucket, authorization: string | null) => Promise<T>,
    sentBytes = 0,
  ): Promise<T> {
    const { bucket, token } = await this.#authorized(operation, signal);
    const silenceMs = this.silenceMs * (1 + Math.min(sentBytes, maxUnsentBytes) / (2 * mebibyte));
    const call = new Call({ silenceMs, idleMs: this.#idleMs });
    try {
      return await untilAborted(
        call.run(() => work(bucket, token)),
        signal,
      );
    } catch (error) {
      throw this.#failed(operation, call.silence ?? error, token);
    } finally {
      call.end();
    }
  }

  /** Makes a call with retries. Throws a GcsError. */
  call<T>(operation: GcsOperation, limits: GcsLimits, work: (bucket: Bucket) => Promise<T>): Promise<T> {
    return this.retry(operation, limits, (signal) => this.attempt(operation, signal, work));
  }

  /**
   * Makes one attempt to read, until the head of a 2xx response has arrived; the signal ends only this part. Throws a GcsError.
   *
   * @param work creates a stream of the library
   */
  async open(operation: GcsOperation, signal: AbortSignal, work: (bucket: Bucket) => Readable): Promise<Download> {
    const { bucket, token } = await this.#authorized(operation, signal);
    const call = new Call({ silenceMs: this.silenceMs, idleMs: this.#idleMs, isStreamed: true });
    const body = call.run(() => work(bucket));
    // Errors are handled by the reader of the body. After its end, they need another listener.
    body.on('error', () => undefined);
    const end = () => {
      body.destroy();
      call.end();
    };
    try {
      const answer = await untilAborted(
        call.run(() => headOf(body)),
        signal,
      );
      return { ...answer, body, end };
    } catch (error) {
      end();
      throw this.#failed(operation, call.silence ?? error, token);
    }
  }

  /** Closes idle connections. */
  close(): void {
    closeIdle();
  }

  /** Returns the bucket, once it has a token, so that calls do not wait for one, and that token. */
  async #authorized(operation: GcsOperation, signal: AbortSignal) {
    try {
      return await untilAborted(this.credentials.authorized(), signal);
    } catch (error) {
      if (!(error instanceof CredentialsError)) throw error;
      const { message: detail, transient } = error;
      throw new GcsError(operation, { failure: 'credentials', detail, transient }, { cause: error });
    }
  }

  #failed(operation: GcsOperation, thrown: unknown, token: string | null): GcsError {
    const error = toGcsError(operation, thrown);
    if (error.status === 401) this.credentials.renew(token);
    return error;
  }
}

/** Data that the operating system may still have to send when everything is written; this takes a while on a slow line. */
const maxUnsentBytes = 4 * mebibyte;

/** Returns the head of the answer of a library stream. For a status other than 2xx the stream emits an error. */
async function headOf(body: Readable): Promise<Pick<Download, 'status' | 'headers'>> {
  const answered = once(body, 'response');
  // Reading from the stream makes it send the request.
  body.read(0);
  const [{ statusCode: status, headers }] = (await answered) as [
    { statusCode: number; headers: Record<string, string> },
  ];
  if (status >= 300) await once(body, 'end');
  return { status, headers };
}

function tooLate(operation: GcsOperation, cause: unknown): GcsError {
  const detail = `the deadline has passed; the last error was: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new GcsError(operation, { failure: 'connection', detail, transient: true }, { cause });
}

/** The permission `storage.objects.<need>`. */
export type BucketNeed = 'create' | 'get' | 'delete';

const all: readonly BucketNeed[] = ['create', 'get', 'delete'];

/** Statuses of servers that do not support querying permissions. */
const unknowing = [403, 404, 405, 501];

/** How long an answer is cached. */
const knownMs = 60_000;

/** Timeout of a query, because other calls wait for it. */
const askMs = 5000;

/**
 * The permissions on the bucket. Every client may query its own permissions. The result does not include conditional
 * ones, for instance on a prefix.
 */
class BucketRights {
  readonly #client: GcsClient;
  #known: { readonly granted: Promise<ReadonlySet<string>>; readonly until: number } | null = null;

  constructor(client: GcsClient) {
    this.#client = client;
  }

  /** Returns null if the server does not support it, as emulators. Throws a GcsError. */
  ask(limits: GcsLimits): Promise<ReadonlySet<string> | null> {
    return this.#client.retry('testPermissions', limits, async (signal) => {
      const rights = all.map((need) => `storage.objects.${need}`);
      try {
        const [granted] = await this.#client.attempt('testPermissions', signal, (bucket) =>
          bucket.iam.testPermissions(rights),
        );
        return new Set(rights.filter((right) => granted[right] === true));
      } catch (error) {
        if (error instanceof GcsError && unknowing.includes(error.status ?? 0)) return null;
        throw error;
      }
    });
  }

  /** Whether the bucket grants a permission, according to a response of the last minute. False if it cannot be queried. */
  async has(right: string): Promise<boolean> {
    if (this.#known === null || Date.now() >= this.#known.until) {
      const granted = this.ask({ deadline: Date.now() + askMs }).then((rights) => rights ?? new Set<string>());
      this.#known = { granted, until: Date.now() + knownMs };
    }
    const known = this.#known;
    try {
      return (await known.granted).has(right);
    } catch {
      if (this.#known === known) this.#known = null;
      return false;
    }
  }
}
