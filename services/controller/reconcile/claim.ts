import { isWriteConflict } from '@webcapture/shared/nats/api-errors.ts';
import type { Entries } from '@webcapture/shared/nats/entries.ts';

const key = 'reconcile.claim';

/** Longer than a page takes; one that died holds up the next for so long. */
const ttlSeconds = 120;

/** What the chore of the leader claims as: there is one leader, which goes on where the former one stopped. */
export const leaderHolder = 'the leader of the fleet';

/** The right to remove files: of the leader's chore or of a person who does it by hand, never of both at once. */
export class ReconcileClaim {
  readonly #live: Entries;
  readonly #holder: string;

  constructor(live: Entries, holder: string) {
    this.#live = live;
    this.#holder = holder;
  }

  /** Takes it, or holds it for longer: before each page. Null when it is ours, else who has it. */
  async take(): Promise<string | null> {
    const found = await this.#live.get<{ holder: string }>(key);
    if (found !== null && found.value.holder !== this.#holder) return found.value.holder;
    try {
      const value = { holder: this.#holder };
      if (found === null) await this.#live.create(key, value, { ttlSeconds });
      else await this.#live.update(key, value, found.revision, { ttlSeconds });
      return null;
    } catch (error) {
      if (isWriteConflict(error)) return 'somebody else';
      throw error;
    }
  }

  /** Gives it up, if it is ours. */
  async release(): Promise<void> {
    const found = await this.#live.get<{ holder: string }>(key);
    if (found?.value.holder === this.#holder) await this.#live.delete(key, found.revision);
  }
}
