import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import ipaddr from 'ipaddr.js';

const ttlMs = 600_000;

interface SignInCodeOptions {
  readonly code: string;
  /** API key that the code is exchanged for. */
  readonly key: string;
  readonly now: () => number;
}

/**
 * A code that `npm start` puts into a sign-in link for the dashboard, so that the URL does not contain the API key. It
 * is valid on this machine, for one exchange within ten minutes.
 */
export class SignInCode {
  #key: string | null;
  readonly #digest: Buffer;
  readonly #now: () => number;
  readonly #expiresAt: number;

  constructor({ code, key, now }: SignInCodeOptions) {
    this.#key = key;
    this.#digest = digestOf(code);
    this.#now = now;
    this.#expiresAt = now() + ttlMs;
  }

  /**
   * Returns the API key for the code, once.
   *
   * @param address of the connection; X-Forwarded-For is ignored
   * @throws ServiceError UNAUTHORIZED
   */
  redeem(code: string, address: string | undefined): string {
    const key = this.#key;
    const isGood =
      timingSafeEqual(digestOf(code), this.#digest) && isLoopback(address) && this.#now() < this.#expiresAt;
    if (key === null || !isGood) {
      throw new ServiceError(
        'UNAUTHORIZED',
        'This sign-in link has been used, has expired, or was made for another start. Sign in with the API key that npm start has printed.',
      );
    }
    this.#key = null;
    return key;
  }
}

/** Hashes codes to one length, because comparing different lengths would reveal the code's length. */
const digestOf = (code: string) => createHash('sha256').update(code).digest();

function isLoopback(address = ''): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}
