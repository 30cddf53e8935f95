import { type Delivery, maxDeliveries } from '../api/delivery.ts';
import { changeEntry, Entries } from '../nats/entries.ts';
import type { NatsSession } from '../nats/connect.ts';

/** Lifetime of the entry of an account after its last delivery: 92 days. */
const ttlSeconds = 92 * 86_400;

interface KeptDeliveries {
  /** The newest deliveries come first. */
  readonly deliveries: readonly Delivery[];
}

/** The latest delivery attempts of each account. Each account has one entry (`deliveries.<account>` in the bucket `db`). */
export class Deliveries {
  readonly #db: Entries;

  constructor(session: NatsSession) {
    this.#db = new Entries(session, 'db');
  }

  /** Returns the latest attempts, newest first. */
  async list(account: string, limit: number): Promise<readonly Delivery[]> {
    const found = await this.#db.get<KeptDeliveries>(keyOf(account));
    return (found?.value.deliveries ?? []).slice(0, limit);
  }

  async add(account: string, deliveries: readonly Delivery[]): Promise<void> {
    const next = (kept: KeptDeliveries | null) => ({
      deliveries: latest([...deliveries, ...(kept?.deliveries ?? [])]),
    });
    await changeEntry<KeptDeliveries, KeptDeliveries>(this.#db, keyOf(account), next, () => ttlSeconds);
  }
}

const keyOf = (account: string) => `deliveries.${account}`;

/** Returns those attempts that are kept, newest first. */
export const latest = (deliveries: readonly Delivery[]): readonly Delivery[] =>
  deliveries.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, maxDeliveries);
