import { type DeadLetter, maxDeadLetters } from '../api/admin.ts';
import { changeEntry, Entries } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';

const key = 'dead-letters';

interface KeptLetters {
  /** The newest dead letters come first. */
  readonly deadLetters: readonly DeadLetter[];
}

/** The latest jobs that the server no longer delivers, in one entry of the bucket `db`. */
export class DeadLetters {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  async list(): Promise<readonly DeadLetter[]> {
    return (await this.#db.get<KeptLetters>(key))?.value.deadLetters ?? [];
  }

  async add(letter: DeadLetter): Promise<void> {
    await changeEntry<KeptLetters, KeptLetters>(this.#db, key, (kept) => ({
      deadLetters: [letter, ...(kept?.deadLetters ?? [])].slice(0, maxDeadLetters),
    }));
  }
}
