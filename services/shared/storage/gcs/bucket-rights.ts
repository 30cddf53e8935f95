import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';

/** The right `storage.objects.<need>`. */
export type BucketNeed = 'create' | 'get' | 'delete' | 'list';

const all: readonly BucketNeed[] = ['create', 'get', 'delete', 'list'];

/** How who knows of no rights answers. */
const unknowing = [403, 404, 405, 501];

/** For so long an answer is taken to hold. */
const knownMs = 60_000;

/** The most that a question takes which others wait for. */
const askMs = 5000;

/**
 * Which rights the bucket gives. Anybody may ask for their own; those that are given under a condition, on a prefix for
 * instance, do not show.
 */
export class BucketRights {
  readonly #client: GcsClient;
  #known: { readonly granted: Promise<ReadonlySet<string>>; readonly until: number } | null = null;

  constructor(client: GcsClient) {
    this.#client = client;
  }

  /** Null: who answers knows of no rights, as emulators do. Throws a GcsError. */
  ask(limits: GcsLimits): Promise<ReadonlySet<string> | null> {
    return this.#client.retry('testPermissions', limits, async (signal) => {
      const rights = all.map((need) => `storage.objects.${need}`);
      try {
        const [granted] = await this.#client.attempt('testPermissions', signal, (bucket) =>
          bucket.iam.testPermissions(rights),
        );
        return new Set(rights.filter((right) => granted[right] === true));
      } catch (error) {
        if (error instanceof GcsError && unknowing.includes(error.status ?? 0)) return null;
        throw error;
      }
    });
  }

  /** Whether the bucket gives a right, as it said within the last minute. False when it cannot be asked. */
  async has(right: string): Promise<boolean> {
    if (this.#known === null || Date.now() >= this.#known.until) {
      const granted = this.ask({ deadline: Date.now() + askMs }).then((rights) => rights ?? new Set<string>());
      this.#known = { granted, until: Date.now() + knownMs };
    }
    const known = this.#known;
    try {
      return (await known.granted).has(right);
    } catch {
      if (this.#known === known) this.#known = null;
      return false;
    }
  }
}
