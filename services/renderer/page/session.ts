import type { OriginStorage, SessionState } from '@webcapture/shared/captures/session-state.ts';
import { maxSessionBytes } from '@webcapture/shared/queue/outcomes.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { callTimeoutMs } from './deadline.ts';
import type { OpenPage } from './open.ts';
import { fillStorage, readStorage } from './scripts/storage.ts';

/**
 * Restores the cookies and the storage of a login, before the page is opened. All cookies are set at once, and the browser decides which
 * site receives which cookie. The storage of an origin is filled when its first document starts. Frames of other sites get only cookies.
 *
 * @throws Error of the driver, whose message may contain secrets
 */
export async function restoreSession({ page, world }: OpenPage, { cookies, origins }: SessionState): Promise<void> {
  const now = Date.now() / 1000;
  const valid = cookies.filter(({ expires }) => expires < 0 || expires > now);
  await Promise.all([page.context().addCookies(valid), world.runFirst(fillStorage, [origins])]);
}

/** Collects the cookies and the storage that a login leaves in the browser. */
export class SessionKeeper {
  readonly #open: OpenPage;
  readonly #origins = new Map<string, OriginStorage>();

  constructor(open: OpenPage) {
    this.#open = open;
  }

  /** Remembers the storage of the page's current origin. Does not throw: if the page does not respond, nothing is remembered. */
  async note(): Promise<void> {
    await this.#readOrigin().catch(() => undefined);
  }

  /**
   * Returns the cookies of all sites, and the storage of the remembered origins and of the current one.
   *
   * @throws ServiceError CAPTURE_FAILED if the cookies and the storage are too large
   */
  async read(): Promise<SessionState> {
    const { page, deadline } = this.#open;
    await this.#readOrigin();
    const cookies = await deadline.run(page.context().cookies(), callTimeoutMs, 'reading the cookies');
    const state = { cookies: cookies.map(cookieOf), origins: [...this.#origins.values()] };
    const bytes = Buffer.byteLength(JSON.stringify(state));
    if (bytes <= maxSessionBytes) return state;
    throw new ServiceError(
      'CAPTURE_FAILED',
      `The cookies and the storage that the login left have more than ${maxSessionBytes} bytes, which is the maximum of a session.`,
      { causedBy: 'page' },
    );
  }

  async #readOrigin(): Promise<void> {
    const limit = { timeoutMs: callTimeoutMs, what: 'reading the storage' };
    const found = await this.#open.world.callInAny(readStorage, [maxSessionBytes], limit);
    if (found !== null && /^https?:/.test(found.origin)) this.#origins.set(found.origin, found);
  }
}

type Cookie = Awaited<ReturnType<ReturnType<OpenPage['page']['context']>['cookies']>>[number];

const cookieOf = ({ name, value, domain, path, expires, httpOnly, secure, sameSite, partitionKey }: Cookie) => ({
  name,
  value,
  domain,
  path,
  expires,
  httpOnly,
  secure,
  sameSite,
  ...(partitionKey === undefined ? {} : { partitionKey }),
});
