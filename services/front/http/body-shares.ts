import { delay } from '@webcapture/shared/runtime/deadline.ts';

interface BodySharesOptions {
  /** Maximum time that a body waits for room. */
  readonly maxWaitMs?: number;
  /**
   * Rate that determines how long a body occupies its room at least: its size divided by this rate. By default, this is 2 s for the largest
   * body, so an account gets 16 MiB a second.
   */
  readonly bytesPerSecond?: number;
}

/** Maximum total size of concurrent large bodies of one account: four bodies of the maximum size, or thirty bodies of 1 MiB. */
const maxBytes = 32 * 1024 * 1024;

interface Waiting {
  readonly bytes: number;
  /** The waiter aborts this controller when there is room. */
  readonly admitted: AbortController;
}

interface Share {
  bytes: number;
  readonly waiting: Waiting[];
}

/**
 * Limits the memory and processor time that large bodies of one account use. Bodies beyond the limit wait in order. They
 * never wait for another account.
 */
export class BodyShares {
  readonly #shares = new Map<string, Share>();
  readonly #maxWaitMs: number;
  readonly #bytesPerSecond: number;

  constructor({ maxWaitMs = 10_000, bytesPerSecond = 4 * 1024 * 1024 }: BodySharesOptions = {}) {
    this.#maxWaitMs = maxWaitMs;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /**
   * Waits for room for a body of `bytes`. Returns a function that releases the room, or null if there was no room in time
   * or the client has disconnected.
   */
  async reserve(account: string, bytes: number, clientGone: AbortSignal): Promise<(() => void) | null> {
    const share = this.#shares.get(account) ?? { bytes: 0, waiting: [] };
    this.#shares.set(account, share);
    if (share.waiting.length === 0 && share.bytes + bytes <= maxBytes) share.bytes += bytes;
    else if (!(await this.#wait(share, bytes, clientGone))) return null;
    const since = performance.now();
    return () => {
      const leftMs = (bytes / this.#bytesPerSecond) * 1000 - (performance.now() - since);
      if (leftMs <= 0) this.#release(account, share, bytes);
      else setTimeout(() => this.#release(account, share, bytes), leftMs).unref();
    };
  }

  async #wait(share: Share, bytes: number, clientGone: AbortSignal): Promise<boolean> {
    const admitted = new AbortController();
    const waiting = { bytes, admitted };
    share.waiting.push(waiting);
    await delay(this.#maxWaitMs, AbortSignal.any([clientGone, admitted.signal]));
    if (!admitted.signal.aborted) share.waiting.splice(share.waiting.indexOf(waiting), 1);
    return admitted.signal.aborted;
  }

  #release(account: string, share: Share, bytes: number): void {
    share.bytes -= bytes;
    for (
      let next = share.waiting[0];
      next !== undefined && share.bytes + next.bytes <= maxBytes;
      next = share.waiting[0]
    ) {
      share.waiting.shift();
      share.bytes += next.bytes;
      next.admitted.abort();
    }
    if (share.bytes === 0 && share.waiting.length === 0) this.#shares.delete(account);
  }
}
