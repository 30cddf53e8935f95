import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { SignLink } from '@webcapture/shared/storage/open-store.ts';
import { LRUCache } from 'lru-cache';

/** A link that opens a file without any other right. */
export interface SignedLink {
  readonly url: string;
  /** Unix milliseconds: until then it opens the file, if that is still there. */
  readonly opensUntil: number;
}

const linkMs = 3_600_000;
/** A link is handed out again for half of its time: whoever gets it last has half an hour to use it. */
const reuseMs = linkMs / 2;
const mostLinks = 50_000;
const signMs = 8000;

/**
 * Signed links to files, each signed once for many requests: signing is a call of IAM where there is no key file. Whoever
 * asks while a link is being signed shares it.
 */
export class SignedLinks {
  readonly #links: LRUCache<string, SignedLink, StoredFile>;

  constructor(sign: SignLink, now: () => number = Date.now) {
    this.#links = new LRUCache({
      max: mostLinks,
      ttl: reuseMs,
      perf: { now },
      fetchMethod: async (_name, _stale, { context: file }) => {
        const opensUntil = Math.min(now() + linkMs, file.expiresAt);
        const url = await withDeadline(sign(file, { expiresAt: opensUntil }), signMs, 'signing a link');
        return { url, opensUntil };
      },
    });
  }

  /** @throws ServiceError STORAGE_FAILED when it cannot be signed */
  async linkTo(file: StoredFile): Promise<SignedLink> {
    try {
      return await this.#links.forceFetch(file.name, { context: file });
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new ServiceError('STORAGE_FAILED', undefined, { cause: error });
    }
  }
}
