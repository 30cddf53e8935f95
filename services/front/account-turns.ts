import { onAbort } from '@webcapture/shared/runtime/deadline.ts';

/**
 * Gives a fixed number of slots to accounts in turn (round robin). An account uses at most one slot, so it cannot delay all others. The
 * work of one account starts in the order of the calls.
 */
export class AccountTurns {
  readonly #slots: number;
  /** Queues by account; the first account is next. */
  readonly #queues = new Map<string, (() => void)[]>();
  readonly #running = new Set<string>();

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Returns the number of waiting calls of an account and of all accounts. */
  waiting(account: string): { ofAccount: number; ofAll: number } {
    const ofAll = [...this.#queues.values()].reduce((sum, { length }) => sum + length, 0);
    return { ofAccount: this.#queues.get(account)?.length ?? 0, ofAll };
  }

  /** Runs the work when a slot is free. Rejects with the reason of the signal if it aborts before. */
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
      // Move the account to the end of the queue.
      this.#queues.delete(account);
      if (queue.length > 0) this.#queues.set(account, queue);
      this.#running.add(account);
      start?.();
    }
  }
}
