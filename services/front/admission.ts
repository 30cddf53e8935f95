import type { Account } from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits, AdmissionRequest, AdmissionVerdict } from '@webcapture/shared/accounts/limits.ts';
import type { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { periodOf } from '@webcapture/shared/captures/times.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { isTransient, isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import type { Priority } from '@webcapture/shared/nats/streams.ts';
import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { type ErrorCode, ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';

/** Limits that cannot be checked within this, by default, admit nothing. */
const checkTimeoutMs = 3000;

/** An answer does not wait for longer than this until its reservation is released. */
const releaseTimeoutMs = 1000;

export interface AdmissionDeps {
  readonly limiter: Pick<Limiter, 'admit' | 'release'>;
  readonly captures: Pick<Captures, 'get'>;
  readonly log: Logger;
  /** Ends what goes on in the background. */
  readonly signal: AbortSignal;
  /** The clock of the times in requests, Unix ms: the server's. */
  readonly now?: (() => number) | undefined;
  /** See {@link checkTimeoutMs}. */
  readonly checkTimeoutMs?: number | undefined;
}

/** What a reservation is asked for. */
export interface ReservationRequest {
  /** Names the reservation: the uuid of the capture, or the reservation of a refresh. */
  readonly id: string;
  readonly tokens: number;
  readonly priority: Priority;
  /** When the reservation lapses by itself; Unix milliseconds by the server's clock. */
  readonly until: number;
  /** Seconds that a background capture would wait now; null when nobody can tell. */
  readonly waitSeconds: number | null;
}

/** How an account stands with its rate limit: what every answer tells that came as far as the check of the limits. */
export interface RateLimitFacts {
  /** Requests a minute. */
  readonly limit: number;
  /** Requests that would pass right now. */
  readonly remaining: number;
  /** Until the whole burst may be sent again, in whole seconds, rounded up. */
  readonly resetSeconds: number;
}

/** What an account holds while a capture is under way; released by whoever got it. */
export interface Reservation {
  /** @param record the last that is known of a capture that a client waits for; undefined when it never got a record */
  release(record?: CaptureRecord): Promise<void>;
}

export type Admitted = { readonly rateLimit: RateLimitFacts } & (
  { readonly refusal: ServiceError } | { readonly refusal: null; readonly reservation: Reservation }
);

/** An error that tells the client when to try again. */
export class RetryLaterError extends ServiceError {
  readonly retryAfterSeconds: number;

  constructor(code: ErrorCode, message: string | undefined, retryAfterSeconds: number, options?: { cause?: unknown }) {
    super(code, message, options);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Checks the limits of accounts, reserves what a capture needs of them, and releases it. */
export class Admission {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Reserves what a capture needs, if the limits of the account allow it.
   *
   * @throws ServiceError INTERNAL_ERROR, within a few seconds, when the limits cannot be checked
   */
  async admit(account: Account, { waitSeconds, priority, ...rest }: ReservationRequest): Promise<Admitted> {
    const request: AdmissionRequest = { ...rest, lane: priority };
    const verdict = await this.#check(account, request);
    const rateLimit = {
      limit: account.ratePerMinute,
      remaining: verdict.remaining,
      resetSeconds: Math.ceil(verdict.resetMs / 1000),
    };
    const refusal = refusalOf(verdict, account, { tokens: request.tokens, now: this.#now(), waitSeconds });
    if (refusal !== null) return { rateLimit, refusal };
    const release = (record?: CaptureRecord) => this.#release(account.id, request, record);
    return { rateLimit, refusal, reservation: { release } };
  }

  async #check(account: Account, request: AdmissionRequest): Promise<AdmissionVerdict> {
    const timeoutMs = this.#deps.checkTimeoutMs ?? checkTimeoutMs;
    const deadline = Date.now() + timeoutMs;
    const admitted = retryTransient(() => this.#deps.limiter.admit(account.id, account, request), { deadline });
    try {
      return await withDeadline(admitted, timeoutMs, 'checking the limits');
    } catch (cause) {
      // It may have been admitted, and only the answer got lost.
      this.#releaseInBackground(account.id, request);
      if (!isTransient(cause) && !isWriteConflict(cause)) throw cause;
      throw new ServiceError(
        'INTERNAL_ERROR',
        'The limits of the account cannot be checked right now. Send the request again in a few seconds.',
        { cause },
      );
    }
  }

  /**
   * Releases before the answer goes out: the limits that the client's next request meets are up to date. The reservation
   * of a capture which goes on without its client is released when that has ended.
   */
  async #release(account: string, request: AdmissionRequest, record: CaptureRecord | undefined): Promise<void> {
    if (record !== undefined && isOpen(record)) {
      this.#inBackground(() => this.#releaseAtEnd(account, request));
      return;
    }
    try {
      const released = this.#deps.limiter.release(account, request.id);
      await withDeadline(released, releaseTimeoutMs, 'releasing a reservation');
    } catch (error) {
      this.#deps.log.warn({ err: error, uuid: request.id, account }, 'a reservation could not be released at once');
      this.#releaseInBackground(account, request);
    }
  }

  #releaseInBackground(account: string, { id, until }: AdmissionRequest): void {
    const { limiter, signal } = this.#deps;
    const deadline = this.#onOwnClock(until);
    this.#inBackground(() => retryTransient(() => limiter.release(account, id), { deadline, signal }));
  }

  async #releaseAtEnd(account: string, { id, until }: AdmissionRequest): Promise<void> {
    const { limiter, captures, signal } = this.#deps;
    const deadline = this.#onOwnClock(until);
    for (let attempt = 1; Date.now() < deadline && !signal.aborted; attempt++) {
      const read = () => captures.get(account, id);
      const found = await retryTransient(read, { deadline, signal });
      // A capture that a client waits for has no record before it ends.
      if (found !== null && !isOpen(found.value)) {
        await retryTransient(() => limiter.release(account, id), { deadline, signal });
        return;
      }
      await delay(backoffMs(attempt, 100, 2000), signal);
    }
  }

  #now(): number {
    return (this.#deps.now ?? Date.now)();
  }

  /** A time by the server's clock as one by this process's, which may differ. */
  #onOwnClock(time: number): number {
    return Date.now() + (time - this.#now());
  }

  /** Nobody waits for it, and when it fails, the reservation lapses by itself. */
  #inBackground(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => this.#deps.log.debug({ err: error }, 'a reservation was not released; it lapses'));
  }
}

/**
 * The error of a request that the limits of its account do not let through, or null. `now` in Unix milliseconds;
 * `waitSeconds` as in {@link ReservationRequest}.
 */
export function refusalOf(
  { refused, retryAfterMs }: AdmissionVerdict,
  limits: AccountLimits,
  request: { readonly tokens: number; readonly now: number; readonly waitSeconds: number | null },
): ServiceError | null {
  switch (refused) {
    case null:
      return null;
    case 'rate':
      return new RetryLaterError(
        'RATE_LIMIT_EXCEEDED',
        `The account may send ${limits.ratePerMinute} captures a minute. Wait for the seconds that Retry-After tells.`,
        // A client that waits for 0 seconds does not wait.
        Math.max(1, Math.ceil(retryAfterMs / 1000)),
      );
    case 'quota': {
      // Waiting for seconds does not help: no Retry-After.
      const next = new Date(periodOf(request.now).end).toISOString();
      return new ServiceError(
        'QUOTA_EXCEEDED',
        `This capture costs ${request.tokens} of the ${limits.tokenQuota} tokens of this month, and fewer are left, captures in flight counted. The next period begins at ${next}.`,
      );
    }
    case 'in-flight':
      return new RetryLaterError(
        'QUEUE_FULL',
        `The account may have ${limits.maxInFlight} captures under way at once. Send it again when one has ended.`,
        minRetrySeconds,
      );
    case 'queued':
      return new RetryLaterError(
        'QUEUE_FULL',
        `The account may have ${limits.maxQueued} background captures waiting.`,
        queueRetrySeconds(request.waitSeconds),
      );
  }
}

/** An error as it is; one of a full queue also tells when to try again. `waitSeconds` as in {@link ReservationRequest}. */
export function withRetryAfter(error: unknown, waitSeconds: number | null): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'QUEUE_FULL' || error instanceof RetryLaterError) return error;
  return new RetryLaterError(error.code, error.message, queueRetrySeconds(waitSeconds), { cause: error.cause });
}

/** Seconds after which a request that found no room may find some: captures take about as long. */
const minRetrySeconds = 2;

/** A queue may be worked off sooner than one can tell. */
const maxRetrySeconds = 3600;

const queueRetrySeconds = (waitSeconds: number | null) =>
  Math.min(maxRetrySeconds, Math.max(minRetrySeconds, waitSeconds ?? 0));
