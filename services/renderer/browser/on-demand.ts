import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { LaunchedBrowser } from './launch.ts';
import { type BrowserSource, PagePool, watchBrowser } from './page-pool.ts';
import { BrowserLostError, closeWarmPage, openWarmPage, type CapturePage, type WarmPage } from './page.ts';

interface OnDemandBrowserOptions extends BrowserSource {
  readonly log: Logger;
  readonly capturesPerBrowser: number;
  /** The browser is closed after so many milliseconds without work. */
  readonly idleTimeoutMs: number;
}

/** A browser that is needed now and then: launched for the first capture, closed when nothing has come for a while. */
export class OnDemandBrowser {
  readonly #options: OnDemandBrowserOptions;
  readonly #retiring = new Set<Promise<void>>();
  #current: Promise<PagePool> | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: OnDemandBrowserOptions) {
    this.#options = options;
  }

  /** @throws BrowserLostError when it does not start or opens no page */
  async acquire(): Promise<CapturePage> {
    clearTimeout(this.#idleTimer);
    const current = this.#current;
    const known = await current?.catch(() => undefined);
    const isUsedUp = known && (!known.connected || known.acquired >= this.#options.capturesPerBrowser);
    if (isUsedUp && current === this.#current) this.#retire();
    if (this.#isClosed) throw new BrowserLostError('the renderer is stopping');
    const pool = await (this.#current ??= this.#launch());
    const page = await pool.acquire();
    return {
      ...page,
      release: async (end) => {
        await page.release(end);
        if (pool.busy === 0) this.#startIdleTimer();
      },
    };
  }

  /** Ends the browser, with the captures that still run in it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idleTimer);
    const pool = await this.#current?.catch(() => undefined);
    await pool?.close();
    await Promise.all(this.#retiring);
  }

  async #launch(): Promise<PagePool> {
    const { launch, log } = this.#options;
    try {
      const launched = await launch();
      return new PagePool({
        ...this.#options,
        launched,
        warmPages: 0,
        onFailure: (reason, cause) => {
          log.warn({ reason, err: cause, pid: launched.pid }, 'the browser for antiBot failed');
          this.#retire();
        },
      });
    } catch (error) {
      this.#current = undefined;
      throw new BrowserLostError('the browser for antiBot did not start', { cause: error });
    }
  }

  #startIdleTimer(): void {
    clearTimeout(this.#idleTimer);
    if (this.#isClosed) return;
    this.#idleTimer = setTimeout(() => this.#retire(), this.#options.idleTimeoutMs);
    this.#idleTimer.unref();
  }

  /** The next capture gets another browser; this one closes after its last capture. */
  #retire(): void {
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined) return;
    const retiring = current.then((pool) => pool.retire()).catch(() => undefined);
    this.#retiring.add(retiring);
    void retiring.finally(() => this.#retiring.delete(retiring));
  }
}

interface DedicatedBrowsersOptions extends BrowserSource {
  /** The spare browser is closed when nobody has wanted it for so many milliseconds. */
  readonly idleTimeoutMs: number;
}

/** A browser that one capture has, or is to have, for itself. */
interface DedicatedBrowser {
  readonly launched: LaunchedBrowser;
  readonly page: WarmPage;
}

/**
 * Browsers of which each serves one capture and ends with it: for accounts that share none, and for a capture that may
 * have brought down a shared one. When one ends, the next one is launched: whoever wants one soon need not wait for it.
 */
export class DedicatedBrowsers {
  readonly #options: DedicatedBrowsersOptions;
  readonly #closeInUse = new Set<() => Promise<void>>();
  #spare: Promise<DedicatedBrowser | null> | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: DedicatedBrowsersOptions) {
    this.#options = options;
  }

  /** @throws BrowserLostError when the browser does not start or opens no page */
  async acquire(): Promise<CapturePage> {
    const browser = (await this.#takeSpare()) ?? (await this.#launch());
    const { launched, page } = browser;
    const unwatch = watchBrowser(launched, this.#options, { busy: () => true, onUnresponsive: launched.kill });
    let closing: Promise<void> | undefined;
    const close = () => {
      this.#closeInUse.delete(close);
      unwatch();
      return (closing ??= closeDedicated(browser));
    };
    this.#closeInUse.add(close);
    if (this.#isClosed) {
      await close();
      throw new BrowserLostError('the renderer is stopping');
    }
    return {
      ...page,
      browserLost: () => !launched.browser.isConnected(),
      release: async () => {
        await close();
        this.#keepSpare();
      },
    };
  }

  /** Ends all of them, with the captures that still run in them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#closeSpare(), ...[...this.#closeInUse].map((close) => close())]);
  }

  async #launch(): Promise<DedicatedBrowser> {
    const { launch, egress, setup } = this.#options;
    let launched: LaunchedBrowser | undefined;
    try {
      launched = await launch();
      return { launched, page: await openWarmPage(launched, egress, setup) };
    } catch (error) {
      await launched?.close();
      throw new BrowserLostError('a dedicated browser opened no page', { cause: error });
    }
  }

  /** Null when there is none, or none that works. */
  async #takeSpare(): Promise<DedicatedBrowser | null> {
    const spare = this.#spare;
    this.#spare = undefined;
    clearTimeout(this.#idleTimer);
    const browser = (await spare) ?? null;
    if (browser === null || (browser.launched.browser.isConnected() && !browser.page.crashed())) return browser;
    await closeDedicated(browser);
    return null;
  }

  /** Launching one takes a processor for half a second: not beside a capture, but when one has ended. */
  #keepSpare(): void {
    if (this.#isClosed) return;
    this.#spare ??= this.#launch().catch(() => null);
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => void this.#closeSpare(), this.#options.idleTimeoutMs);
    this.#idleTimer.unref();
  }

  async #closeSpare(): Promise<void> {
    const browser = await this.#takeSpare();
    if (browser !== null) await closeDedicated(browser);
  }
}

async function closeDedicated({ launched, page }: DedicatedBrowser): Promise<void> {
  await closeWarmPage(page);
  await launched.close();
}
