import type { Request } from 'playwright';
import { watchLiveness, type LaunchedBrowser } from './launch.ts';
import type { MemoryGuard, Watched } from './memory.ts';
import {
  BrowserLostError,
  closeWarmPage,
  hasLostProxy,
  openWarmPage,
  type CapturePage,
  type PageEgress,
  type PageSetup,
  type WarmPage,
} from './page.ts';

/** What browsers and their pages are opened with, whoever keeps them. */
export interface BrowserSource {
  readonly launch: () => Promise<LaunchedBrowser>;
  readonly egress: PageEgress;
  readonly setup?: PageSetup;
  readonly guard: MemoryGuard;
  /** A browser that answers nothing for so many milliseconds is killed: its captures need not wait for their own end. */
  readonly livenessTimeoutMs: number;
}

interface PagePoolOptions extends Omit<BrowserSource, 'launch'> {
  readonly launched: LaunchedBrowser;
  /** Pages kept warm ahead of need. */
  readonly warmPages: number;
  /** Gets the memory of the browser's processes, in bytes, while it works. */
  readonly onMemory?: (bytes: number) => void;
  /** The browser ended by itself, or does not do what it is told. Called once, and not once the pool retires. */
  readonly onFailure: (reason: string, cause?: unknown) => void;
}

/** Watches the memory of a browser, and whether it responds, until the returned function is called. */
export function watchBrowser(
  { browser, pid }: LaunchedBrowser,
  { guard, livenessTimeoutMs }: Pick<BrowserSource, 'guard' | 'livenessTimeoutMs'>,
  { onUnresponsive, ...watched }: Omit<Watched, 'pid'> & { readonly onUnresponsive: () => void },
): () => void {
  const stopGuard = guard.watch({ pid, ...watched });
  const stopLivenessWatch = watchLiveness(browser, livenessTimeoutMs, onUnresponsive);
  return () => {
    stopGuard();
    stopLivenessWatch();
  };
}

/** So many captures in a row that timed out are the fault of the browser, or of one of its processes. */
const maxConsecutiveTimeouts = 3;

/** One browser and its pages, from launch to the end of its last capture. */
export class PagePool {
  readonly #options: PagePoolOptions;
  readonly #warm: WarmPage[] = [];
  readonly #onIdle: (() => void)[] = [];
  readonly #unwatch: () => void;
  #filling: Promise<void> | undefined;
  #busy = 0;
  #acquired = 0;
  #timeouts = 0;
  #isRetired = false;
  #hasFailed = false;
  #hasLostProxies = false;

  constructor(options: PagePoolOptions) {
    this.#options = options;
    const { launched, onMemory } = options;
    this.#unwatch = watchBrowser(launched, options, {
      busy: () => this.#busy > 0,
      ...(onMemory && { onTotal: onMemory }),
      onUnresponsive: () => {
        this.#fail('the browser does not respond');
        launched.kill();
      },
    });
    launched.browser.on('disconnected', () => {
      this.#unwatch();
      this.#fail('the browser exited');
    });
  }

  /** Pages acquired so far. */
  get acquired(): number {
    return this.#acquired;
  }

  /** Pages that captures have, or are about to get. */
  get busy(): number {
    return this.#busy;
  }

  get warm(): number {
    return this.#warm.length;
  }

  get connected(): boolean {
    return this.#options.launched.browser.isConnected();
  }

  /** Opens warm pages until there are enough. Resolves as well when that failed, which is reported as a failure. */
  fill(): Promise<void> {
    this.#filling ??= this.#fill().finally(() => (this.#filling = undefined));
    return this.#filling;
  }

  /**
   * A page for one capture.
   *
   * @throws BrowserLostError when the browser opens none
   */
  async acquire(): Promise<CapturePage> {
    this.#acquired += 1;
    // From the first moment: a browser that retires meanwhile is not to close under a page that is being opened.
    this.#busy += 1;
    try {
      const page = this.#nextWarm() ?? (await this.#open());
      // Opening pages beside a capture slows it down: the next one is opened when one has ended, if there is a spare.
      if (this.#warm.length === 0) void this.fill();
      return this.#toCapturePage(page);
    } catch (error) {
      this.#endOne();
      this.#fail('the browser opens no page', error);
      throw new BrowserLostError('the browser opened no page', { cause: error });
    }
  }

  /** Hands out no more pages; resolves when the last capture has ended and the browser is closed. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    // The last capture may take long, and nobody wants these any more.
    await Promise.all(this.#warm.splice(0).map((page) => closeWarmPage(page)));
    if (this.#busy > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    await this.close();
  }

  /** Ends the browser with all that runs in it. */
  async close(): Promise<void> {
    this.#isRetired = true;
    this.#unwatch();
    await this.#filling;
    const warm = this.#warm.splice(0);
    await this.#options.launched.close();
    await Promise.all(warm.map(({ proxySession }) => proxySession.close()));
  }

  #nextWarm(): WarmPage | undefined {
    for (let page = this.#warm.shift(); page !== undefined; page = this.#warm.shift()) {
      if (!page.page.isClosed() && !page.crashed()) return page;
      void closeWarmPage(page);
    }
    return undefined;
  }

  #open(): Promise<WarmPage> {
    const { launched, egress, setup } = this.#options;
    return openWarmPage(launched, egress, setup);
  }

  #toCapturePage(page: WarmPage): CapturePage {
    const onRequestFailed = (request: Request) => {
      if (this.#hasLostProxies || !hasLostProxy(request.failure()?.errorText)) return;
      this.#hasLostProxies = true;
      this.#fail('the browser has lost its proxies');
      this.#options.launched.kill();
    };
    page.context.on('requestfailed', onRequestFailed);
    return {
      ...page,
      browserLost: () => !this.connected,
      release: (end) => {
        // Its proxy session may be closed before it is.
        page.context.off('requestfailed', onRequestFailed);
        return this.#release(page, end?.timedOut ?? false);
      },
    };
  }

  async #release(page: WarmPage, timedOut: boolean): Promise<void> {
    this.#timeouts = timedOut ? this.#timeouts + 1 : 0;
    if (this.#timeouts === maxConsecutiveTimeouts) this.#fail(`${maxConsecutiveTimeouts} captures in a row timed out`);
    if (!(await closeWarmPage(page))) this.#fail('the browser closes no page');
    this.#endOne();
    void this.fill();
  }

  #endOne(): void {
    this.#busy -= 1;
    if (this.#busy === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  async #fill(): Promise<void> {
    try {
      while (!this.#isRetired && this.connected && this.#warm.length < this.#options.warmPages) {
        const page = await this.#open();
        if (this.#isRetired) await closeWarmPage(page);
        else this.#warm.push(page);
      }
    } catch (error) {
      this.#fail('the browser opens no page', error);
    }
  }

  #fail(reason: string, cause?: unknown): void {
    if (this.#hasFailed || this.#isRetired) return;
    this.#hasFailed = true;
    this.#options.onFailure(reason, cause);
  }
}
