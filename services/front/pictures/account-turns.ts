import { onAbort } from '@webcapture/shared/runtime/deadline.ts';

/**
 * Slots that accounts get in turn. One account has one of them at most, so that another is never kept from the rest; what it
 * has waiting is served first come, first served.
 */
export class AccountTurns {
  readonly #slots: number;
  /** Whose turn is next comes first. */
  readonly #queues = new Map<string, (() => void)[]>();
  readonly #running = new Set<string>();

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** How many wait: of an account, of all accounts. */
  waiting(account: string): { ofAccount: number; ofAll: number } {
    const ofAll = [...this.#queues.values()].reduce((sum, { length }) => sum + length, 0);
    return { ofAccount: this.#queues.get(account)?.length ?? 0, ofAll };
  }

  /** Does the work once it is its turn; rejects with the signal's reason when that aborts before. */
  async run<T>(account: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turnOf(account, signal);
    try {
      return await work();
    } finally {
      this.#running.delete(account);
      this.#startNext();
    }
  }

  #turnOf(account: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(account) ?? [];
      const start = () => {
        stopListening();
        resolve();
      };
      queue.push(start);
      this.#queues.set(account, queue);
      const stopListening = onAbort(signal, () => {
        queue.splice(queue.indexOf(start), 1);
        if (queue.length === 0) this.#queues.delete(account);
        reject(signal.reason as Error);
      });
      this.#startNext();
    });
  }

  #startNext(): void {
    for (const [account, queue] of this.#queues) {
      if (this.#running.size >= this.#slots) return;
      if (this.#running.has(account)) continue;
      const start = queue.shift();
      // After the others.
      this.#queues.delete(account);
      if (queue.length > 0) this.#queues.set(account, queue);
      this.#running.add(account);
      start?.();
    }
  }
}
