import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import {
  withDefaultLimits,
  type Account,
  type AccountRecord,
  type Accounts,
} from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import { hashKey, type KeyRecord, type Keys } from './keys.ts';
import type { Scope } from '@webcapture/shared/api/api-key.ts';
import { callNats, callTimeoutMs } from '../nats.ts';
import { ReadCache } from '../read-cache.ts';
import type { UnknownKeys } from './unknown-keys.ts';

/** Maximum age of cached keys and accounts. It is short so that a change takes effect on every front within a second. */
export const keyMaxAgeMs = 400;

export interface AuthenticatorDeps {
  readonly keys: Keys;
  readonly accounts: Accounts;
  /** Limits the cost of look-ups of unknown keys. If undefined, each key is looked up. */
  readonly unknownKeys?: UnknownKeys | undefined;
  /** Default limits of accounts. */
  readonly defaultLimits: AccountLimits;
  /** The server's clock, Unix ms. */
  readonly now: () => number;
  /** Keys are refused if their look-up takes longer than this, so that limits and revocations apply even without NATS. */
  readonly lookupTimeoutMs?: number | undefined;
}

/** The sender of a request. */
export interface Caller {
  readonly key: KeyRecord;
  readonly account: Account;
}

/** Authenticates the API keys of requests. */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #now: () => number;
  readonly #lookupTimeoutMs: number;
  readonly #keys = new ReadCache<KeyRecord | null>({ maxAgeMs: keyMaxAgeMs });
  readonly #accounts = new ReadCache<AccountRecord | null>({ maxAgeMs: keyMaxAgeMs });

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
    this.#now = deps.now;
    this.#lookupTimeoutMs = deps.lookupTimeoutMs ?? callTimeoutMs;
  }

  /**
   * Returns the key in an Authorization header and its account.
   *
   * @param scope the scope that the key must have; null accepts any valid key
   * @param refusal error code for a key without the scope and for a suspended account, because POST /capture does not use 403
   * @throws ServiceError UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED; `refusal` if the key lacks the scope or its account is suspended;
   * RATE_LIMIT_EXCEEDED if too many unknown keys arrive; INTERNAL_ERROR, within a few seconds, if keys cannot be looked up
   */
  async authenticate(
    authorization: string | undefined,
    scope: Scope | null,
    refusal: 'FORBIDDEN' | 'UNAUTHORIZED' = 'FORBIDDEN',
  ): Promise<Caller> {
    const token = bearerToken(authorization);
    if (token === null) throw new ServiceError('UNAUTHORIZED');
    return this.authenticateKey(hashKey(token), scope, refusal);
  }

  /** Like {@link authenticate}, for a request that does not contain the key, but proves that its sender has it. */
  async authenticateKey(hash: string, scope: Scope | null, refusal: 'FORBIDDEN' | 'UNAUTHORIZED'): Promise<Caller> {
    const caller = await this.#lookUp(hash);
    if (caller === null) throw new ServiceError('UNAUTHORIZED');
    const { key, account } = caller;
    if (key.revokedAt !== undefined && key.revokedAt <= this.#now()) throw new ServiceError('API_KEY_REVOKED');
    if (key.expiresAt !== undefined && key.expiresAt <= this.#now()) throw new ServiceError('API_KEY_EXPIRED');
    if (account.suspendedAt !== undefined) {
      throw new ServiceError(refusal, 'The account of this API key is suspended. Ask the operator of the service.');
    }
    if (scope !== null && !key.scopes.includes(scope)) {
      throw new ServiceError(refusal, `The API key lacks the scope "${scope}" that this needs.`);
    }
    return caller;
  }

  /** Returns the account of the key in an Authorization header, even if the key is no longer valid; null if there is none. */
  async accountOf(authorization: string | undefined): Promise<string | null> {
    const token = bearerToken(authorization);
    if (token === null) return null;
    return (await this.#keyOf(hashKey(token), Date.now() + this.#lookupTimeoutMs))?.account ?? null;
  }

  /** Removes a key that this front changed from the cache. */
  forgetKey(hash: string): void {
    this.#keys.forget(hash);
  }

  /** Removes an account that this front changed from the cache. */
  forgetAccount(id: string): void {
    this.#accounts.forget(id);
  }

  #lookUp(hash: string): Promise<Caller | null> {
    const deadline = Date.now() + this.#lookupTimeoutMs;
    const find = () => this.#find(hash, deadline);
    return callNats(find, 'The API key cannot be checked right now.', this.#lookupTimeoutMs);
  }

  async #find(hash: string, deadline: number): Promise<Caller | null> {
    const { accounts, defaultLimits } = this.#deps;
    const key = await this.#keyOf(hash, deadline);
    if (key === null) return null;
    const record = await this.#accounts.get(key.account, () => readValue(() => accounts.get(key.account), deadline));
    // An account without a record has the operator's default limits.
    const account = record ?? { id: key.account, name: key.account, createdAt: key.createdAt };
    return { key, account: withDefaultLimits(account, defaultLimits) };
  }

  #keyOf(hash: string, deadline: number): Promise<KeyRecord | null> {
    const { keys, unknownKeys } = this.#deps;
    const read = async () => {
      if ((await unknownKeys?.mayExist(hash)) === false) return null;
      const found = await keys.get(hash);
      unknownKeys?.found(hash, found !== null);
      return found;
    };
    return this.#keys.get(hash, () => readValue(read, deadline));
  }
}

async function readValue<T>(get: () => Promise<{ readonly value: T } | null>, deadline: number): Promise<T | null> {
  return (await retryTransient(get, { deadline }))?.value ?? null;
}

/** Returns the token of an `Authorization: Bearer <token>` header (RFC 6750; the scheme in any case), or null. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +(\S+)\s*$/i.exec(authorization ?? '')?.[1] ?? null;
}
