import { byteLimitMessage } from '@webcapture/shared/accounts/byte-limits.ts';
import type { Account } from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits, AdmissionRequest, AdmissionVerdict } from '@webcapture/shared/accounts/limits.ts';
import type { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { Captures } from '@webcapture/shared/captures/captures.ts';
import { periodOf } from '@webcapture/shared/captures/times.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { backoffMs, delay, localDeadline, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { type FailureCause, ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { EmbeddedShare } from './byte-quota.ts';
import type { RequestFacts } from './http/request-facts.ts';
import { callNats } from './nats.ts';

/** Maximum time that an answer waits for the release of its reservation. */
const releaseTimeoutMs = 1000;

export interface AdmissionDeps {
  readonly limiter: Limiter;
  readonly embeddedShare: EmbeddedShare;
  readonly captures: Captures;
  readonly log: Logger;
  /** Aborts background work. */
  readonly signal: AbortSignal;
  /** The server's clock, in which requests state times; Unix milliseconds. */
  readonly now?: (() => number) | undefined;
  /** Requests are refused if the check of the limits takes longer than this. */
  readonly checkTimeoutMs?: number | undefined;
}

export interface ReservationRequest extends AdmissionRequest {
  /** Expected waiting time of a background capture in seconds; null if unknown. */
  readonly waitSeconds: number | null;
}

/** The part of an account's limits that is reserved during a capture. The caller releases it. */
export interface Reservation {
  /** @param record the last known record of a capture with a waiting client; undefined if it never had a record */
  release(record?: CaptureRecord): Promise<void>;
}

interface RetryLaterOptions {
  readonly causedBy: FailureCause;
  readonly cause?: unknown;
}

/** An error with a time after which the client may retry. */
export class RetryLaterError extends ServiceError {
  readonly retryAfterSeconds: number;

  constructor(code: 'RATE_LIMIT_EXCEEDED', message: string, retryAfterSeconds: number);
  constructor(
    code: 'QUEUE_FULL' | 'REGION_UNAVAILABLE',
    message: string,
    retryAfterSeconds: number,
    options: RetryLaterOptions,
  );
  constructor(
    code: 'RATE_LIMIT_EXCEEDED' | 'QUEUE_FULL' | 'REGION_UNAVAILABLE',
    message: string,
    retryAfterSeconds: number,
    options: RetryLaterOptions = { causedBy: 'client' },
  ) {
    super(code, message, options);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * Checks the limits of an account, reserves what a capture needs, explains refusals, and ensures that every reservation
 * is released.
 */
export class Admission {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Reserves what a capture needs, and writes the state of the rate limit into `facts`.
   *
   * @throws ServiceError RATE_LIMIT_EXCEEDED, QUOTA_EXCEEDED or QUEUE_FULL if the limits of the account do not allow it;
   *   INTERNAL_ERROR within a few seconds if the limits cannot be checked
   */
  async admit(
    account: Account,
    { waitSeconds, ...request }: ReservationRequest,
    facts: Pick<RequestFacts, 'rateLimit'>,
  ): Promise<Reservation> {
    const verdict = await this.#check(account, request);
    facts.rateLimit = {
      limit: account.ratePerMinute,
      remaining: verdict.remaining,
      resetSeconds: Math.ceil(verdict.resetMs / 1000),
    };
    const refusal = refusalOf(verdict, account, { tokens: request.tokens, now: this.#now(), waitSeconds });
    if (refusal !== null) throw refusal;
    return { release: (record) => this.#release(account.id, request, record) };
  }

  async #check(account: Account, request: AdmissionRequest): Promise<AdmissionVerdict> {
    const { limiter, embeddedShare } = this.#deps;
    const limits = { ...account, embedded: embeddedShare.limit() };
    const admit = () => limiter.admit(account.id, limits, request);
    try {
      return await callNats(admit, 'The limits of the account cannot be checked right now.', this.#deps.checkTimeoutMs);
    } catch (error) {
      // The limiter may have admitted the request although its answer was lost.
      this.#releaseInBackground(account.id, request);
      throw error;
    }
  }

  /**
   * Releases before the answer is sent, so that the client's next request meets current limits. If the capture continues after its client
   * has disconnected, the reservation is released when the capture has ended.
   */
  async #release(account: string, request: AdmissionRequest, record: CaptureRecord | undefined): Promise<void> {
    if (record !== undefined && isOpen(record)) {
      this.#releaseInBackground(account, request, (limits) => this.#hasEnded(account, request.id, limits));
      return;
    }
    try {
      const released = this.#deps.limiter.release(account, request.id);
      await withDeadline(released, releaseTimeoutMs, 'releasing a reservation');
    } catch (error) {
      this.#deps.log.warn(
        { err: error, uuid: request.id, account },
        'a reservation could not be released at once; trying again',
      );
      this.#releaseInBackground(account, request);
    }
  }

  /**
   * Releases a reservation in the background. If the release fails, the reservation expires. `isDue` resolves to true when the release is
   * due, or to false if its deadline has passed.
   */
  #releaseInBackground(
    account: string,
    { id, until }: AdmissionRequest,
    isDue: (limits: ReleaseLimits) => Promise<boolean> = async () => true,
  ): void {
    const { limiter, signal, log } = this.#deps;
    const limits = { deadline: localDeadline(until, this.#now()), signal };
    const release = async () => {
      if (await isDue(limits)) await retryTransient(() => limiter.release(account, id), limits);
    };
    release().catch((error: unknown) =>
      log.debug({ err: error, uuid: id, account }, 'a reservation could not be released; it expires'),
    );
  }

  /** Waits until the capture has ended. Returns false if it has not ended before the deadline. */
  async #hasEnded(account: string, uuid: string, { deadline, signal }: ReleaseLimits): Promise<boolean> {
    for (let attempt = 1; Date.now() < deadline && !signal.aborted; attempt++) {
      const found = await retryTransient(() => this.#deps.captures.get(account, uuid), { deadline, signal });
      // An interactive capture has no record before it ends.
      if (found !== null && !isOpen(found.value)) return true;
      await delay(backoffMs(attempt, 100, 2000), signal);
    }
    return false;
  }

  #now(): number {
    return (this.#deps.now ?? Date.now)();
  }
}

/** Deadline of the attempts to release; Unix milliseconds of the clock of this process. */
interface ReleaseLimits {
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/**
 * Returns the error of a request that the limits of its account refuse, or null if they admit it. `now` is in Unix milliseconds;
 * `waitSeconds` as in {@link ReservationRequest}.
 */
export function refusalOf(
  { refused, retryAfterMs, exceeded }: AdmissionVerdict,
  limits: AccountLimits,
  request: { readonly tokens: number; readonly now: number; readonly waitSeconds: number | null },
): ServiceError | null {
  switch (refused) {
    case null:
      return null;
    case 'rate':
      return new RetryLaterError(
        'RATE_LIMIT_EXCEEDED',
        `The account may send ${limits.ratePerMinute} captures a minute. Retry after the number of seconds in the Retry-After header.`,
        // With a Retry-After of 0, clients would retry immediately.
        Math.max(1, Math.ceil(retryAfterMs / 1000)),
      );
    case 'quota': {
      // The error has no Retry-After, because the quota is renewed at the end of the month.
      const next = new Date(periodOf(request.now).end).toISOString();
      return new ServiceError(
        'QUOTA_EXCEEDED',
        `This capture costs ${request.tokens} tokens, but fewer of the ${limits.tokenQuota} tokens of this month remain. Tokens of captures in progress are reserved. The next period begins at ${next}.`,
      );
    }
    case 'bytes':
      // The error has no Retry-After, as for the quota.
      return new ServiceError('QUOTA_EXCEEDED', exceeded && byteLimitMessage(exceeded));
    case 'in-flight':
      return new RetryLaterError(
        'QUEUE_FULL',
        `The account can have at most ${limits.maxInFlight} captures in progress. Send the request again when one has ended.`,
        minRetrySeconds,
        { causedBy: 'client' },
      );
    case 'queued':
      return new RetryLaterError(
        'QUEUE_FULL',
        `The account can have at most ${limits.maxQueued} queued background captures.`,
        queueRetrySeconds(request.waitSeconds),
        { causedBy: 'client' },
      );
  }
}

/**
 * Adds a retry time to the error of a full queue. Returns other errors unchanged. `waitSeconds` as in
 * {@link ReservationRequest}.
 */
export function withRetryAfter(error: unknown, waitSeconds: number | null): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'QUEUE_FULL' || error instanceof RetryLaterError) return error;
  return new RetryLaterError(error.code, error.message, queueRetrySeconds(waitSeconds), {
    causedBy: error.causedBy,
    cause: error.cause,
  });
}

/** Minimum retry time of a request that was refused for lack of room; about the duration of a capture. */
const minRetrySeconds = 2;

/** Upper bound of the retry time, because estimates of long waiting times are unreliable. */
const maxRetrySeconds = 3600;

const queueRetrySeconds = (waitSeconds: number | null) =>
  Math.min(maxRetrySeconds, Math.max(minRetrySeconds, waitSeconds ?? 0));
