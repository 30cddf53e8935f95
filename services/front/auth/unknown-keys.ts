import { LRUCache } from 'lru-cache';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { connectionId } from '@webcapture/shared/nats/watch.ts';
import { keySubject } from '@webcapture/shared/nats/streams.ts';
import { entryLimit } from '../entry-limit.ts';
import { TokenBuckets } from '../http/token-buckets.ts';
import type { Keys } from './keys.ts';

/** Time for which the absence of a key is cached. A write of the key ends it earlier. */
const missingTtlMs = 2000;
const maxMissing = 10_000;

/** Maximum number of known keys. They can always be looked up, whatever other clients request. */
const maxKnown = 50_000;

/** Time for which a written key is remembered, because a replica may not have it yet. */
const writtenTtlMs = 60_000;
const maxWritten = 10_000;

/** Limit of look-ups of unknown keys at the leader: a burst, and a rate per second. */
const lookUpLimit = { capacity: 50, perSecond: 20 };
/** All look-ups at the leader share this one token bucket. */
const leader = 'leader';

/** Maximum size of a batch of look-ups beyond the limit. */
const maxBatch = 500;
/** Time for which look-ups are gathered into a batch. */
const gatherTimeoutMs = 20;

/** Maximum number of waiting look-ups, about 0.2 s of work. Further ones are refused. */
const maxWaiting = 5000;

interface UnknownKeysDeps {
  readonly session: NatsSession;
  readonly keys: Pick<Keys, 'existing'>;
  /** Key prefix of other entries of the bucket `db` that clients can request without authentication. */
  readonly prefix?: string;
}

interface Waiting {
  readonly hash: string;
  readonly resolve: (exists: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Protects the leader of the database from requests with unknown keys, of which any client can send any number. The absence of a key is
 * cached briefly. Look-ups beyond a rate are batched and sent to any replica. The leader confirms every existing key, so a valid key that
 * is new to this front is delayed by at most one batch. Fronts subscribe to new keys, because a replica may not have them yet.
 */
export class UnknownKeys {
  readonly #deps: UnknownKeysDeps;
  readonly #known = new LRUCache<string, true>(entryLimit(maxKnown));
  readonly #written = new LRUCache<string, true>({ ...entryLimit(maxWritten), ttl: writtenTtlMs });
  /** Missing keys, with the id of the NATS connection that reports when one of them is written. */
  readonly #missing = new LRUCache<string, string>({ ...entryLimit(maxMissing), ttl: missingTtlMs });
  #waiting: Waiting[] = [];
  #isGathering = false;
  readonly #lookUps = new TokenBuckets(lookUpLimit);

  constructor(deps: UnknownKeysDeps) {
    this.#deps = deps;
    const subjects = keySubject('db', `${deps.prefix ?? 'key'}.`);
    deps.session.nc.subscribe(`${subjects}*`, {
      callback: (error, { subject }) => {
        if (error !== null) return;
        const hash = subject.slice(subjects.length);
        this.#written.set(hash, true);
        this.#missing.delete(hash);
      },
    });
  }

  /**
   * Returns false if no key with this hash exists, and true if the leader must be asked.
   *
   * @throws ServiceError RATE_LIMIT_EXCEEDED if too many unknown keys arrive; the errors of NATS
   */
  async mayExist(hash: string): Promise<boolean> {
    if (this.#known.has(hash) || this.#written.has(hash)) return true;
    if (this.#isMissing(hash)) return false;
    if (this.#lookUps.level(leader) >= 1) {
      this.#lookUps.spend(leader, 1);
      return true;
    }
    if (this.#waiting.length >= maxWaiting) {
      throw new ServiceError(
        'RATE_LIMIT_EXCEEDED',
        'Too many requests with unknown API keys arrive right now. Send the request again in a few seconds.',
      );
    }
    const exists = await new Promise<boolean>((resolve, reject) => {
      this.#waiting.push({ hash, resolve, reject });
      if (!this.#isGathering) void this.#lookUpTogether();
    });
    // The key may have been written during the look-up.
    if (exists || this.#written.has(hash)) return true;
    this.found(hash, false);
    return false;
  }

  /** Records the answer of the leader or a replica: whether a key exists. */
  found(hash: string, exists: boolean): void {
    if (exists) this.#known.set(hash, true);
    else {
      this.#known.delete(hash);
      // The key may have been written after the look-up.
      if (!this.#written.has(hash)) this.#missing.set(hash, connectionId(this.#deps.session));
    }
  }

  /** Ignores entries of an earlier connection: keys written during a disconnection were not reported. */
  #isMissing(hash: string): boolean {
    const { session } = this.#deps;
    const connection = this.#missing.get(hash);
    return connection !== undefined && session.connected() && connection === connectionId(session);
  }

  async #lookUpTogether(): Promise<void> {
    this.#isGathering = true;
    while (this.#waiting.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, gatherTimeoutMs));
      const batch = this.#waiting.splice(0, maxBatch);
      try {
        const existing = await this.#deps.keys.existing([...new Set(batch.map(({ hash }) => hash))]);
        for (const { hash, resolve } of batch) resolve(existing.has(hash));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isGathering = false;
  }
}
