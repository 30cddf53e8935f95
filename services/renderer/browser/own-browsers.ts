import { BrowserLostError } from './browser-lost-error.ts';
import type { LaunchedBrowser } from './launch.ts';
import type { MemoryGuard } from './memory-guard.ts';
import type { PageLoan } from './page-loan.ts';
import { watchPulse } from './watch-pulse.ts';
import { closeWarmPage, openWarmPage, type PageEgress, type PageSetup, type WarmPage } from './warm-page.ts';

export interface OwnBrowsersOptions {
  readonly launch: () => Promise<LaunchedBrowser>;
  readonly egress: PageEgress;
  readonly guard: MemoryGuard;
  readonly setup?: PageSetup;
  /** A browser that answers nothing for so many milliseconds is ended, and its capture with it. */
  readonly patienceMs: number;
  /** The spare browser is closed when nobody has wanted it for so many milliseconds. */
  readonly idleMs: number;
}

/** A browser that one capture has, or is to have, for itself. */
interface OwnBrowser {
  readonly launched: LaunchedBrowser;
  readonly page: WarmPage;
}

/**
 * Browsers of which each serves one capture and ends with it: for accounts that share none, and for a capture that may
 * have brought down a shared one. When one ends, the next one is launched: whoever wants one soon need not wait for it.
 */
export class OwnBrowsers {
  readonly #options: OwnBrowsersOptions;
  readonly #lent = new Set<() => Promise<void>>();
  #spare: Promise<OwnBrowser | null> | undefined;
  #idleClock: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: OwnBrowsersOptions) {
    this.#options = options;
  }

  /** @throws BrowserLostError when the browser does not start or opens no page */
  async take(): Promise<PageLoan> {
    const own = (await this.#takeSpare()) ?? (await this.#open());
    const { launched, page } = own;
    const { guard, patienceMs } = this.#options;
    const unguard = guard.watch({ pid: launched.pid, busy: () => true });
    const stopPulse = watchPulse(launched.browser, { patienceMs, onSilence: () => launched.kill() });
    let ending: Promise<void> | undefined;
    const end = () => {
      this.#lent.delete(end);
      unguard();
      stopPulse();
      return (ending ??= closeOwn(own));
    };
    this.#lent.add(end);
    if (this.#closed) {
      await end();
      throw new BrowserLostError('the renderer is stopping');
    }
    return {
      ...page,
      browserLost: () => !launched.browser.isConnected(),
      release: async () => {
        await end();
        this.#keepSpare();
      },
    };
  }

  /** Ends all of them, with the captures that still run in them. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#dropSpare(), ...[...this.#lent].map((end) => end())]);
  }

  async #open(): Promise<OwnBrowser> {
    const { launch, egress, setup } = this.#options;
    let launched: LaunchedBrowser | undefined;
    try {
      launched = await launch();
      return { launched, page: await openWarmPage(launched, egress, setup) };
    } catch (error) {
      await launched?.close();
      throw new BrowserLostError('a browser of its own opened no page', { cause: error });
    }
  }

  /** Null when there is none, or none that works. */
  async #takeSpare(): Promise<OwnBrowser | null> {
    const spare = this.#spare;
    this.#spare = undefined;
    clearTimeout(this.#idleClock);
    const own = (await spare) ?? null;
    if (own === null || (own.launched.browser.isConnected() && !own.page.crashed())) return own;
    await closeOwn(own);
    return null;
  }

  /** Launching one takes a processor for half a second: not beside a capture, but when one has ended. */
  #keepSpare(): void {
    if (this.#closed) return;
    this.#spare ??= this.#open().catch(() => null);
    clearTimeout(this.#idleClock);
    this.#idleClock = setTimeout(() => void this.#dropSpare(), this.#options.idleMs);
    this.#idleClock.unref();
  }

  async #dropSpare(): Promise<void> {
    const own = await this.#takeSpare();
    if (own !== null) await closeOwn(own);
  }
}

async function closeOwn({ launched, page }: OwnBrowser): Promise<void> {
  await closeWarmPage(page);
  await launched.close();
}
