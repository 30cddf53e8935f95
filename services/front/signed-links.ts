import { randomUUIDv7 } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { StoredFile } from '@webcapture/shared/files/file-store.ts';
import type { SignLink } from '@webcapture/shared/files/open-store.ts';
import { backoffMs, DeadlineError, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { entryLimit } from './entry-limit.ts';

/** A link that gives access to a file without further credentials. */
export interface SignedLink {
  readonly url: string;
  /** Expiry of the link, Unix milliseconds. */
  readonly opensUntil: number;
}

const linkTtlMs = 3_600_000;
/** Time for which a link is reused: half of its lifetime. A returned link is thus valid for at least half an hour. */
const reuseTtlMs = linkTtlMs / 2;
const maxLinks = 50_000;
const signTimeoutMs = 8000;

/**
 * Creates signed links to files. Links are cached and reused, because signing without a key file requires a request to IAM. Concurrent
 * callers share one signing.
 */
export class SignedLinks {
  readonly #links: LRUCache<string, SignedLink, StoredFile>;

  constructor(sign: SignLink, now: () => number = Date.now) {
    this.#links = new LRUCache({
      ...entryLimit(maxLinks),
      ttl: reuseTtlMs,
      perf: { now },
      fetchMethod: async (_name, _stale, { context: file }) => {
        const opensUntil = Math.min(now() + linkTtlMs, file.expiresAt);
        const url = await withDeadline(sign(file, { expiresAt: opensUntil }), signTimeoutMs, 'signing a link');
        return { url, opensUntil };
      },
    });
  }

  /** @throws ServiceError STORAGE_FAILED if the link cannot be signed */
  async linkTo(file: StoredFile): Promise<SignedLink> {
    try {
      return await this.#links.forceFetch(file.name, { context: file });
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
    }
  }
}

const tryTimeoutMs = 15_000;

/** Signs links to files. */
export interface LinkSigner {
  readonly sign: SignLink;
  /** Origin of all links, which depends on the bucket and its endpoint. */
  readonly origin: string;
}

/**
 * Resolves when links can be signed. Waits while the signing service is unavailable. If it refuses, throws an Error that tells operators
 * what to do.
 *
 * @param options.onWait called with the reason of each wait
 */
export async function trySigning(
  sign: SignLink,
  { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: (what: string) => void },
): Promise<LinkSigner> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return { sign, origin: new URL(await signNothing(sign)).origin };
    } catch (thrown) {
      const cause = thrown instanceof ServiceError ? thrown.cause : thrown;
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (!isPassing(cause)) {
        throw new Error(
          `the links of files should be signed, but cannot be signed: ${reason}. In Google Cloud, grant this service account ` +
            'roles/iam.serviceAccountTokenCreator on itself, or give it a key file (docs/storage.md); or leave ' +
            'WEBCAPTURE_GCS_LINKS or WEBCAPTURE_S3_LINKS at stream.',
          { cause },
        );
      }
      onWait(`waiting to sign links: ${reason}`);
      await delay(backoffMs(attempt, 500, 5000), signal);
    }
  }
}

/** Signs a link to a file that does not exist. */
async function signNothing(sign: SignLink): Promise<string> {
  const now = Date.now();
  const file = {
    name: newFileName(randomUUIDv7(), 'png'),
    contentType: 'image/png',
    size: 1,
    etag: '',
    storedAt: now,
    expiresAt: now + tryTimeoutMs,
    width: 1,
    height: 1,
  } as const;
  return withDeadline(sign(file, { expiresAt: file.expiresAt }), tryTimeoutMs, 'signing a link');
}

/** Whether a retry may succeed soon, because the error or one of its causes is a connection error or a 5xx status. */
function isPassing(error: unknown): boolean {
  if (error instanceof DeadlineError) return true;
  if (!(error instanceof Error)) return false;
  const { code, status, cause } = error as Error & { code?: unknown; status?: unknown };
  const answered = Number(status ?? code);
  if (answered === 429 || answered >= 500) return true;
  return /^(?:E[A-Z]+|UND_ERR_.*)$/.test(String(code)) || isPassing(cause);
}
