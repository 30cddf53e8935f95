import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { Entry } from '@webcapture/shared/nats/entries.ts';
import type { KeyRecord, Keys } from '@webcapture/shared/state/keys.ts';
import { RecentReads } from './recent-reads.ts';

/** A revocation holds everywhere within a second: at once when it is heard of, after this when it is not. */
const maxAgeMs = 500;

/** Records of keys that were used a moment ago. Unknown keys are not kept: a new one works at once. */
export class RecentKeys implements Pick<Keys, 'get'> {
  readonly #keys: Pick<Keys, 'get'>;
  readonly #recent: RecentReads<Entry<KeyRecord> | null>;

  constructor(keys: Pick<Keys, 'get'>, session: NatsSession) {
    this.#keys = keys;
    this.#recent = new RecentReads({
      session,
      subjects: '$KV.db.key.*',
      maxAgeMs,
      maxEntries: 10_000,
      isKept: (entry) => entry !== null,
    });
  }

  get(hash: string): Promise<Entry<KeyRecord> | null> {
    return this.#recent.get(`$KV.db.key.${hash}`, () => this.#keys.get(hash));
  }
}
