import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import { isTransient } from '@webcapture/shared/nats/api-errors.ts';
import { retryWhileAway } from '@webcapture/shared/nats/retry.ts';
import { hashKey, type KeyRecord, type Keys, type Scope } from '@webcapture/shared/state/keys.ts';
import { bearerToken } from './bearer-token.ts';

/** A key that cannot be looked up within this is refused: limits and revocations hold also when NATS is away. */
const lookupMs = 3000;

/** Finds out whose key a request carries. */
export class Authenticator {
  readonly #keys: Pick<Keys, 'get'>;
  readonly #now: () => number;

  constructor(keys: Pick<Keys, 'get'>, now: () => number = Date.now) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * The record of the key in an Authorization header.
   *
   * @param refusal the code for a key that lacks the scope: POST /capture knows no 403
   * @throws ServiceError UNAUTHORIZED, API_KEY_EXPIRED, API_KEY_REVOKED; `refusal` when the key lacks the scope;
   *   INTERNAL_ERROR, within a few seconds, when keys cannot be looked up
   */
  async authenticate(
    authorization: string | undefined,
    scope: Scope,
    refusal: 'FORBIDDEN' | 'UNAUTHORIZED' = 'FORBIDDEN',
  ): Promise<KeyRecord> {
    const token = bearerToken(authorization);
    if (token === null) throw new ServiceError('UNAUTHORIZED');
    const key = await this.#find(token);
    if (key === null) throw new ServiceError('UNAUTHORIZED');
    if (key.revokedAt !== undefined && key.revokedAt <= this.#now()) throw new ServiceError('API_KEY_REVOKED');
    if (key.expiresAt !== undefined && key.expiresAt <= this.#now()) throw new ServiceError('API_KEY_EXPIRED');
    if (!key.scopes.includes(scope)) {
      throw new ServiceError(refusal, `The API key lacks the scope "${scope}" that this needs.`);
    }
    return key;
  }

  async #find(token: string): Promise<KeyRecord | null> {
    const deadline = Date.now() + lookupMs;
    try {
      const lookup = retryWhileAway(() => this.#keys.get(hashKey(token)), { deadline });
      return (await withDeadline(lookup, lookupMs, 'looking up a key'))?.value ?? null;
    } catch (cause) {
      if (!isTransient(cause)) throw cause;
      throw new ServiceError(
        'INTERNAL_ERROR',
        'The API key cannot be checked right now. Send the request again in a few seconds.',
        { cause },
      );
    }
  }
}
