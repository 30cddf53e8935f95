import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';
import type { RequestFacts } from './request-facts.ts';
import { TokenBuckets } from './token-buckets.ts';

/** Why a request or a connection was shed. */
export const shedReasons = [
  'authentication',
  'parsing',
  'account_parsing',
  'bodies',
  'connections',
  'pipelining',
] as const;

export type ShedReason = (typeof shedReasons)[number];

/** Limits of uncharged requests, for each address without a valid key and for each account. */
export interface ClientLimitOptions {
  /** Failed authentications: burst, and rate per second. */
  readonly failures: { readonly capacity: number; readonly perSecond: number };
  /** Bytes of bodies, at once and a second. Each request counts for {@link requestBytes} more. */
  readonly bytes: { readonly capacity: number; readonly perSecond: number };
  /** Bytes of bodies that are not valid, or of messages that ask for no capture, of one account, at once and a second. */
  readonly accountBytes: { readonly capacity: number; readonly perSecond: number };
  /** How long an address that is beyond its share waits for its refusals. */
  readonly penaltyMs: number;
}

const defaults: ClientLimitOptions = {
  failures: { capacity: 60, perSecond: 1 },
  bytes: { capacity: 4 * 1024 * 1024, perSecond: 256 * 1024 },
  accountBytes: { capacity: 64 * 1024 * 1024, perSecond: 2 * 1024 * 1024 },
  penaltyMs: 1000,
};

/** Cost of a request without its body, in bytes. */
const requestBytes = 4096;

/** The refusal of a client that is beyond its share: not another byte of its request is read. */
export class ShedError extends RetryLaterError {}

/**
 * Counts the cost of uncharged requests: for the address until an API key is known to be valid, else for the account.
 * Beyond its share, an address gets answers for valid API keys only, so that it can neither stall the process nor lock
 * out others who share it.
 */
export class ClientLimits {
  readonly #failures: TokenBuckets;
  readonly #bytes: TokenBuckets;
  readonly #accounts: TokenBuckets;
  readonly #penaltyMs: number;
  readonly #count: (reason: ShedReason) => void;

  constructor(count: (reason: ShedReason) => void, options: Partial<ClientLimitOptions> = {}) {
    const { failures, bytes, accountBytes, penaltyMs } = { ...defaults, ...options };
    this.#failures = new TokenBuckets(failures);
    this.#bytes = new TokenBuckets(bytes);
    this.#accounts = new TokenBuckets(accountBytes);
    this.#penaltyMs = penaltyMs;
    this.#count = count;
  }

  /** Whether the address has used up its share: then the API key is checked before anything else. */
  isOver(address: string): boolean {
    return this.#reason(address) !== null;
  }

  /**
   * Counts a failed authentication.
   *
   * @returns the error itself; that of an address beyond its share, after a while, in its place
   */
  async judge(error: ServiceError, address: string, clientGone: AbortSignal): Promise<ServiceError> {
    const reason = this.#reason(address);
    if (reason === null) {
      this.#failures.spend(address, 1);
      return error;
    }
    this.#count(reason);
    // Waiting costs this process nothing, and keeps a client from asking again at once.
    await delay(this.#penaltyMs, clientGone);
    const seconds =
      reason === 'authentication' ? this.#failures.secondsUntil(address, 1) : this.#bytes.secondsUntil(address, 1);
    return new ShedError(
      'RATE_LIMIT_EXCEEDED',
      `Too many requests without a valid API key come from your address. Retry after the number of seconds in the Retry-After header. (${error.message})`,
      seconds,
    );
  }

  /** @throws ShedError when the account has sent too much that is not valid */
  checkAccount(account: string): void {
    if (this.#accounts.level(account) > 0) return;
    this.#count('account_parsing');
    throw new ShedError(
      'RATE_LIMIT_EXCEEDED',
      'The account sends too many invalid requests. Retry after the number of seconds in the Retry-After header.',
      this.#accounts.secondsUntil(account, 1),
    );
  }

  /** Counts an answered request for its address or account. */
  settle({ address, bodyBytes, caller, account, isMessage, rateLimit }: RequestFacts, status: number): void {
    if (bodyBytes === undefined) return;
    const bytes = bodyBytes + requestBytes;
    const isUnpaid = status === 400 || (isMessage === true && rateLimit === undefined);
    if (caller === undefined && account === undefined) this.#bytes.spend(address, bytes);
    else if (isUnpaid) this.#accounts.spend(caller?.account.id ?? account ?? '', bytes);
  }

  #reason(address: string): 'authentication' | 'parsing' | null {
    if (this.#bytes.level(address) <= 0) return 'parsing';
    return this.#failures.level(address) < 1 ? 'authentication' : null;
  }
}
