import { type Deliveries, latest } from '@webcapture/shared/accounts/deliveries.ts';
import { type Delivery, maxDeliveries } from '@webcapture/shared/api/delivery.ts';
import { eachOf } from '../../loops.ts';

/** Maximum number of unwritten attempts of all accounts, of up to 1 KB each; further ones are dropped. */
const maxNoted = 20_000;

const parallel = 8;

/** Minimum interval of writes of an account's entry, because each write replaces the whole entry. */
const minIntervalMs = 5000;

/** Maximum length of a stored URL, because an account's entry contains a hundred URLs. */
const maxUrlLength = 200;
const maxErrorLength = 200;

/**
 * Collects the delivery attempts of accounts in memory and writes them into the accounts' entries. An account's attempts are written at the
 * next flush, but at the earliest 5 s after its last write. A failed write is retried at the next flush. A leader that is killed loses its
 * unwritten attempts.
 */
export class DeliveryLog {
  readonly #deliveries: Deliveries;
  readonly #noted = new Map<string, readonly Delivery[]>();
  #count = 0;
  readonly #now: () => number;
  /** Time of the last write of each account that may not be written again yet. */
  readonly #writtenAt = new Map<string, number>();

  /** @param now monotonic milliseconds */
  constructor(deliveries: Deliveries, now: () => number = () => performance.now()) {
    this.#deliveries = deliveries;
    this.#now = now;
  }

  note(account: string, delivery: Delivery): void {
    const { url, error } = delivery;
    const short = { ...delivery, url: url.slice(0, maxUrlLength), error: error?.slice(0, maxErrorLength) ?? null };
    this.#add(account, [short]);
  }

  /** Writes due entries. Throws if a write failed; its attempts are kept for the next flush. */
  async flush(): Promise<void> {
    const dueSince = this.#now() - minIntervalMs;
    for (const [account, at] of this.#writtenAt) if (at <= dueSince) this.#writtenAt.delete(account);
    await this.#write((account) => !this.#writtenAt.has(account));
  }

  /** Writes all entries. Throws as {@link flush} does. */
  async flushAll(): Promise<void> {
    await this.#write(() => true);
  }

  async #write(isDue: (account: string) => boolean): Promise<void> {
    const due = [...this.#noted].filter(([account]) => isDue(account));
    for (const [account, { length }] of due) {
      this.#noted.delete(account);
      this.#count -= length;
    }
    let failure: { readonly error: unknown } | undefined;
    await eachOf(due, parallel, async ([account, deliveries]) => {
      // If NATS is unavailable, each further write would wait for its timeout, so the loop ends.
      if (failure === undefined) {
        try {
          await this.#deliveries.add(account, latest(deliveries));
          this.#writtenAt.set(account, this.#now());
          return;
        } catch (error) {
          failure = { error };
        }
      }
      this.#add(account, deliveries);
    });
    if (failure !== undefined) throw failure.error;
  }

  #add(account: string, deliveries: readonly Delivery[]): void {
    if (this.#count >= maxNoted) return;
    const known = this.#noted.get(account) ?? [];
    const all = [...known, ...deliveries];
    const kept = all.length > 2 * maxDeliveries ? latest(all) : all;
    this.#noted.set(account, kept);
    this.#count += kept.length - known.length;
  }
}
