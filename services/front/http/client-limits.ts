import { delay } from '@webcapture/shared/runtime/deadline.ts';
import type { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { RetryLaterError } from '../admission.ts';
import type { RequestFacts } from './request-facts.ts';
import { TokenBuckets } from './token-buckets.ts';

/** Reasons why requests or connections are shed. */
export const shedReasons = [
  'authentication',
  'parsing',
  'account_parsing',
  'bodies',
  'connections',
  'pipelining',
] as const;

export type ShedReason = (typeof shedReasons)[number];

/** Limits for requests that are not charged: for each address without a valid key, and for each account. */
export interface ClientLimitOptions {
  /** Number of failed authentications: burst, and rate per second. */
  readonly failures: { readonly capacity: number; readonly perSecond: number };
  /** Bytes of bodies: burst, and rate per second. Each request costs {@link requestBytes} in addition. */
  readonly bytes: { readonly capacity: number; readonly perSecond: number };
  /** Bytes of an account's invalid bodies, and of its MCP messages that request no capture: burst, and rate per second. */
  readonly accountBytes: { readonly capacity: number; readonly perSecond: number };
  /** Time by which responses to an address are delayed after it has exceeded its limit. */
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

/** The refusal of a client that has exceeded its limit. The rest of its request is not read. */
export class ShedError extends RetryLaterError {}

/**
 * Counts the cost of requests that are not charged. The cost counts for the address until an API key is known to be valid, and then for the
 * account. An address beyond its limit gets responses only for valid API keys. It can therefore neither stall the process nor lock out
 * other users of the address.
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

  /** Whether the address has exceeded its limit; the API key is then checked before anything else. */
  isOver(address: string): boolean {
    return this.#reason(address) !== null;
  }

  /**
   * Charges a failed authentication to its address.
   *
   * @returns the error itself; or, after a delay, a refusal if the address has exceeded its limit
   */
  async chargeFailure(error: ServiceError, address: string, clientGone: AbortSignal): Promise<ServiceError> {
    const reason = this.#reason(address);
    if (reason === null) {
      this.#failures.spend(address, 1);
      return error;
    }
    this.#count(reason);
    // The delay costs this process nothing and slows down clients that retry immediately.
    await delay(this.#penaltyMs, clientGone);
    const seconds =
      reason === 'authentication' ? this.#failures.secondsUntil(address, 1) : this.#bytes.secondsUntil(address, 1);
    return new ShedError(
      'RATE_LIMIT_EXCEEDED',
      `Too many requests without a valid API key come from this address. Retry after the number of seconds in the Retry-After header. (${error.message})`,
      seconds,
    );
  }

  /** @throws ShedError if the account has sent too many invalid bodies */
  checkAccount(account: string): void {
    if (this.#accounts.level(account) > 0) return;
    this.#count('account_parsing');
    throw new ShedError(
      'RATE_LIMIT_EXCEEDED',
      'The account sends too many invalid requests. Retry after the number of seconds in the Retry-After header.',
      this.#accounts.secondsUntil(account, 1),
    );
  }

  /** Charges a request that has ended to its address or account. */
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
