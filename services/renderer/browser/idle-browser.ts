import type { Logger } from '@webcapture/shared/telemetry/logger.ts';
import { BrowserGeneration } from './browser-generation.ts';
import { BrowserLostError } from './browser-lost-error.ts';
import type { LaunchedBrowser } from './launch.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { PageLoan } from './page-loan.ts';
import type { PageEgress, PageSetup } from './warm-page.ts';

export interface IdleBrowserOptions {
  readonly launch: () => Promise<LaunchedBrowser>;
  readonly egress: PageEgress;
  readonly guard: MemoryGuard;
  /** A browser that answers nothing for so many milliseconds is replaced. */
  readonly patienceMs: number;
  readonly log: Logger;
  readonly setup: PageSetup;
  readonly capturesPerBrowser: number;
  /** It is closed after so many milliseconds without work. */
  readonly idleMs: number;
}

/** A browser that is needed now and then: launched for the first capture, closed when nothing has come for a while. */
export class IdleBrowser {
  readonly #options: IdleBrowserOptions;
  readonly #ending = new Set<Promise<void>>();
  #current: Promise<BrowserGeneration> | undefined;
  #idleClock: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: IdleBrowserOptions) {
    this.#options = options;
  }

  /** @throws BrowserLostError when it does not start or opens no page */
  async take(): Promise<PageLoan> {
    clearTimeout(this.#idleClock);
    const current = this.#current;
    const known = await current?.catch(() => undefined);
    if (known && (!known.connected || known.taken >= this.#options.capturesPerBrowser) && current === this.#current) {
      this.#end();
    }
    if (this.#closed) throw new BrowserLostError('the renderer is stopping');
    const generation = await (this.#current ??= this.#launch());
    const loan = await generation.take();
    return {
      ...loan,
      release: async (end) => {
        await loan.release(end);
        if (generation.busy === 0) this.#startIdleClock();
      },
    };
  }

  /** Ends the browser, with the captures that still run in it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleClock);
    const generation = await this.#current?.catch(() => undefined);
    await generation?.close();
    await Promise.all(this.#ending);
  }

  async #launch(): Promise<BrowserGeneration> {
    const { launch, egress, guard, patienceMs, setup, log } = this.#options;
    try {
      const launched = await launch();
      const generation: BrowserGeneration = new BrowserGeneration({
        launched,
        egress,
        guard,
        patienceMs,
        setup,
        warmPages: 0,
        onTrouble: (reason, cause) => {
          log.warn({ reason, err: cause, pid: launched.pid }, 'the browser for antiBot is in trouble');
          this.#end();
        },
      });
      return generation;
    } catch (error) {
      this.#current = undefined;
      throw new BrowserLostError('the browser for antiBot did not start', { cause: error });
    }
  }

  #startIdleClock(): void {
    clearTimeout(this.#idleClock);
    if (this.#closed) return;
    this.#idleClock = setTimeout(() => this.#end(), this.#options.idleMs);
    this.#idleClock.unref();
  }

  /** Lets the browser go: the next capture gets another one. */
  #end(): void {
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined) return;
    const ending = current.then((generation) => generation.retire()).catch(() => undefined);
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }
}
