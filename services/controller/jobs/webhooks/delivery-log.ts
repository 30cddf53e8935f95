import { type Deliveries, latest } from '@webcapture/shared/accounts/deliveries.ts';
import { type Delivery, maxDeliveries } from '@webcapture/shared/api/delivery.ts';
import { eachOf } from '../../loops.ts';

/** Attempts that wait to be written, of all accounts; beyond them, none are noted. Up to 1 KB each. */
const maxNoted = 20_000;

const parallel = 8;

/** An account's entry has a hundred of them. */
const maxUrlLength = 500;
const maxErrorLength = 200;

/**
 * Notes the delivery attempts of accounts, for them to look at: in memory, and once a second in their entries, however many
 * attempts there were. What could not be written is written the next time. A leader that is killed loses a second of them.
 */
export class DeliveryLog {
  readonly #deliveries: Pick<Deliveries, 'add'>;
  #noted = new Map<string, readonly Delivery[]>();
  #count = 0;

  constructor(deliveries: Pick<Deliveries, 'add'>) {
    this.#deliveries = deliveries;
  }

  note(account: string, delivery: Delivery): void {
    const { url, error } = delivery;
    const short = { ...delivery, url: url.slice(0, maxUrlLength), error: error?.slice(0, maxErrorLength) ?? null };
    this.#add(account, [short]);
  }

  /** Throws when some could not be written: they are kept for the next time. */
  async flush(): Promise<void> {
    const noted = this.#noted;
    this.#noted = new Map();
    this.#count = 0;
    let failure: { readonly error: unknown } | undefined;
    await eachOf([...noted], parallel, async ([account, deliveries]) => {
      // While NATS is unavailable, each write would wait for it.
      if (failure === undefined) {
        try {
          return await this.#deliveries.add(account, latest(deliveries));
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
