/** Something to wait for that others set off: a loop sleeps until its time or until it is woken. */
export class Wake {
  #resolve: () => void = () => undefined;
  #woken = false;

  /** Ends the wait that is under way, or the next one. */
  set(): void {
    this.#woken = true;
    this.#resolve();
  }

  /** Returns after `ms`, when woken, or when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#woken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        this.#resolve = end;
        signal.addEventListener('abort', end, { once: true });
      });
    }
    this.#woken = false;
  }
}
