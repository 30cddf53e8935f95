import { type Deliveries, latest } from '@webcapture/shared/accounts/deliveries.ts';
import { type Delivery, maxDeliveries } from '@webcapture/shared/api/delivery.ts';
import { eachOf } from '../../loops.ts';

/** Accounts whose attempts wait to be written; beyond them, attempts are not noted. */
const maxAccounts = 10_000;

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

  constructor(deliveries: Pick<Deliveries, 'add'>) {
    this.#deliveries = deliveries;
  }

  note(account: string, delivery: Delivery): void {
    const { url, error } = delivery;
    const short = { ...delivery, url: url.slice(0, maxUrlLength), error: error?.slice(0, maxErrorLength) ?? null };
    this.#add(account, [short]);
  }

  /** Throws the last of the errors when some could not be written: they are kept for the next time. */
  async flush(): Promise<void> {
    const noted = this.#noted;
    this.#noted = new Map();
    let failure: unknown;
    await eachOf([...noted], parallel, async ([account, deliveries]) => {
      try {
        await this.#deliveries.add(account, latest(deliveries));
      } catch (error) {
        failure = error;
        this.#add(account, deliveries);
      }
    });
    if (failure !== undefined) throw failure;
  }

  #add(account: string, deliveries: readonly Delivery[]): void {
    const known = this.#noted.get(account);
    if (known === undefined && this.#noted.size >= maxAccounts) return;
    const all = [...(known ?? []), ...deliveries];
    this.#noted.set(account, all.length > 2 * maxDeliveries ? latest(all) : all);
  }
}
