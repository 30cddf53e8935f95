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
  /** Of the names of all files in it: `captures/`. By default none. */
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

/** Within which attempts are made. */
export interface GcsLimits {
  /** Unix milliseconds. */
  readonly deadline: number;
  /** Ends the call before. */
  readonly signal?: AbortSignal;
}

/** The head of an answer whose body the caller reads. */
export interface Download {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
  /** Closes the connection unless the body was read to its end. */
  end(): void;
}

const maxBackoffMs = 5000;
const mebibyte = 1024 * 1024;

/** Calls of a bucket by Google's library, each with an end and with the one policy of retries that there is. */
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
   * Makes attempts until one succeeds, with exponential back-off and full jitter between them, as long as what they fail
   * of may pass and the deadline is not there. A 401 gets one more try with a new token. Throws the last GcsError.
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

  /** Logs and counts an attempt that failed and is retried. */
  noteRetry(operation: GcsOperation, thrown: unknown): void {
    const error = toGcsError(operation, thrown);
    this.#options.onRetry?.(operation, error.failure);
    this.#options.log.debug({ err: error, operation }, 'retrying bucket request');
  }

  /**
   * One attempt, which ends with the signal at the latest, and its connections with it. Throws a GcsError.
   *
   * @param sentBytes of the body
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

  /** A call with its retries. Throws a GcsError. */
  call<T>(operation: GcsOperation, limits: GcsLimits, work: (bucket: Bucket) => Promise<T>): Promise<T> {
    return this.retry(operation, limits, (signal) => this.attempt(operation, signal, work));
  }

  /**
   * One attempt to read, up to the head of an answer of 2xx; the signal ends that much of it. Throws a GcsError.
   *
   * @param work makes a stream of the library's
   */
  async open(operation: GcsOperation, signal: AbortSignal, work: (bucket: Bucket) => Readable): Promise<Download> {
    const { bucket, token } = await this.#authorized(operation, signal);
    const call = new Call({ silenceMs: this.silenceMs, idleMs: this.#idleMs, isStreamed: true });
    const body = call.run(() => work(bucket));
    // Heard by the reader of the body; one that comes after its end has no other listener.
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

  /** Closes connections that are kept. */
  close(): void {
    closeIdle();
  }

  /** The bucket, for calls that need not wait for a token, and the token that they will have. */
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

/** What may still be in the system's buffers when all is written: on a slow line it takes a while to leave. */
const maxUnsentBytes = 4 * mebibyte;

/** Returns the head of the answer of a library stream. For a status other than 2xx the stream emits an error. */
async function headOf(body: Readable): Promise<Pick<Download, 'status' | 'headers'>> {
  const answered = once(body, 'response');
  // Only who begins to read makes it ask.
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

/** The right `storage.objects.<need>`. */
export type BucketNeed = 'create' | 'get' | 'delete' | 'list';

const all: readonly BucketNeed[] = ['create', 'get', 'delete', 'list'];

/** How who knows of no rights answers. */
const unknowing = [403, 404, 405, 501];

/** How long an answer is cached. */
const knownMs = 60_000;

/** The most that a question takes which others wait for. */
const askMs = 5000;

/**
 * The rights on the bucket. Every client may query its own rights; conditional rights, for instance on a prefix, do not
 * show.
 */
class BucketRights {
  readonly #client: GcsClient;
  #known: { readonly granted: Promise<ReadonlySet<string>>; readonly until: number } | null = null;

  constructor(client: GcsClient) {
    this.#client = client;
  }

  /** Null: who answers knows of no rights, as emulators do. Throws a GcsError. */
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

  /** Whether the bucket gives a right, as it said within the last minute. False when it cannot be asked. */
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
