import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { type BrowserSource, CaptureBrowser } from './capture-browser.ts';
import { BrowserLostError, type CapturePage } from './page.ts';

export interface BrowserPoolOptions extends BrowserSource {
  readonly log: Logger;
  /** Maximum number of browsers. */
  readonly maxBrowsers: number;
  /**
   * Whether the pool launches all browsers in advance. Otherwise it launches a browser when a capture needs one, and closes it when it is
   * idle.
   */
  readonly isWarm: boolean;
  readonly capturesPerBrowser: number;
  /** Time without work after which a pool that is not warm closes a browser. */
  readonly idleTimeoutMs: number;
  /** Defaults to {@link keptPageDefaults}. */
  readonly keptPages?: Partial<typeof keptPageDefaults>;
}

/** Limits of pages that are kept for another capture of the same account. Times are in milliseconds. */
const keptPageDefaults = {
  /** A page grows with each document that it shows; its memory is released when the page closes. */
  maxCaptures: 50,
  /** Maximum time that a page is kept without work. */
  idleTimeoutMs: 60_000,
  /** When a kept page has been unused for this time, the pool may replace it by a fresh page if it has no other. */
  giveWayMs: 1000,
  checkIntervalMs: 1000,
};

export type BrowserState = 'up' | 'down';

/** Maximum time that a capture waits for a browser that is starting. */
const acquireTimeoutMs = 30_000;
const backoff = { baseMs: 200, maxMs: 10_000 };

interface Waiting extends PromiseWithResolvers<CapturePage> {
  readonly own: boolean;
  readonly reuseFor: string | undefined;
}

/**
 * Browsers of one kind. Each runs one capture at a time. The pool has one browser more than the maximum number of parallel captures. The
 * next capture therefore finds a browser with a warm page while the page of the last capture closes, and while a browser is replaced. A
 * browser is replaced after a number of captures, after a capture timed out in it, and when it fails.
 */
export class BrowserPool {
  readonly #options: BrowserPoolOptions;
  readonly #closed = new AbortController();
  readonly #browsers = new Set<CaptureBrowser>();
  /** Browsers with a page that is ready; the last one was used last. */
  #idle: CaptureBrowser[] = [];
  #waiting: Waiting[] = [];
  readonly #launches = new Set<Promise<void>>();
  readonly #closings = new Set<Promise<void>>();
  /** Kept pages that are being replaced by fresh pages. */
  readonly #renewals = new Set<Promise<void>>();
  readonly #keptPages: typeof keptPageDefaults;
  readonly #keptTimer: NodeJS.Timeout;
  #launchFailures = 0;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(options: BrowserPoolOptions) {
    this.#options = options;
    this.#keptPages = { ...keptPageDefaults, ...options.keptPages };
    this.#keptTimer = setInterval(() => this.#dropKept(), this.#keptPages.checkIntervalMs);
    this.#keptTimer.unref();
  }

  /**
   * Starts a pool and resolves when its first browser is up. A warm pool launches the other browsers during the first captures.
   *
   * @throws Error that says what is missing if the browser cannot start
   */
  static async start(options: BrowserPoolOptions): Promise<BrowserPool> {
    const pool = new BrowserPool(options);
    pool.#add(await pool.#launchOne());
    return pool;
  }

  /** The state is `up` also while all browsers are being replaced. A capture that arrives then waits for the first new one. */
  get state(): BrowserState {
    if ([...this.#browsers].some((browser) => browser.isConnected)) return 'up';
    return this.#launchFailures === 0 && !this.#closed.signal.aborted ? 'up' : 'down';
  }

  /**
   * Returns a page for one capture, in a browser that runs no other capture at the same time.
   *
   * @param own whether the browser serves only this capture, and no capture before or after it
   * @param reuseFor the account whose earlier captures may have used the page and whose later captures may use it; without it, the page is
   * not shared
   * @throws BrowserLostError if no browser becomes available in time
   */
  async acquire({
    own = false,
    reuseFor,
  }: { own?: boolean; reuseFor?: string | undefined } = {}): Promise<CapturePage> {
    if (this.#closed.signal.aborted) throw new BrowserLostError('the renderer is stopping');
    clearTimeout(this.#idleTimer);
    const waiting = { own, reuseFor, ...Promise.withResolvers<CapturePage>() };
    this.#waiting.push(waiting);
    this.#serve();
    try {
      return await withDeadline(waiting.promise, acquireTimeoutMs, 'waiting for a browser');
    } catch (error) {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      // The page may arrive at the moment of the timeout. In this case it is released.
      void waiting.promise.then((page) => page.release()).catch(() => undefined);
      if (error instanceof BrowserLostError) throw error;
      throw new BrowserLostError('no browser is available', { cause: error });
    }
  }

  /** Closes all browsers. Captures that still run in them fail. */
  async close(): Promise<void> {
    this.#closed.abort();
    clearTimeout(this.#idleTimer);
    clearInterval(this.#keptTimer);
    for (const { reject } of this.#waiting.splice(0)) reject(new BrowserLostError('the renderer is stopping'));
    await Promise.all(this.#launches);
    for (const browser of this.#browsers) this.#discard(browser);
    await Promise.all(this.#closings);
  }

  /**
   * Gives idle browsers to waiting captures and launches missing browsers.
   *
   * @param spares browsers to launch beyond those that captures wait for; a warm pool launches all
   */
  #serve(spares = 0): void {
    this.#idle = this.#idle.filter((browser) => browser.isReady || this.#discard(browser));
    this.#waiting = this.#waiting.filter((waiting) => {
      const browser = this.#takeIdle(waiting);
      if (browser === undefined) return true;
      const onRelease = (hasCompleted: boolean) => this.#release(browser, waiting, hasCompleted);
      waiting.resolve(waiting.reuseFor === undefined ? browser.take(onRelease) : browser.takeToKeep(onRelease));
      return false;
    });
    // No waiting capture can use the idle browsers, which are kept for other accounts, so their pages are renewed.
    const wanted = this.#waiting.filter(({ own }) => !own).length - this.#renewals.size;
    for (const browser of this.#idle.filter(isKept).slice(0, Math.max(0, wanted))) this.#renew(browser);
    this.#launchMissing(spares);
  }

  /**
   * Takes an idle browser. For a capture with `own`, returns a browser that has served no capture. For other captures, returns the browser
   * whose page is kept for their account; otherwise one with a fresh page, preferably one that has served captures before.
   */
  #takeIdle({ own, reuseFor }: Waiting): CaptureBrowser | undefined {
    const fresh = this.#idle.filter((browser) => !isKept(browser));
    const fit = own
      ? fresh.findLast(({ served }) => served === 0)
      : (this.#idle.findLast(({ keptFor }) => reuseFor !== undefined && keptFor === reuseFor) ??
        fresh.findLast(({ served }) => served > 0) ??
        fresh.at(-1));
    this.#idle = this.#idle.filter((browser) => browser !== fit);
    return fit;
  }

  /** Replaces a kept page by a fresh one. */
  #renew(browser: CaptureBrowser): void {
    this.#idle = this.#idle.filter((idle) => idle !== browser);
    const renewed = async () => {
      if (await browser.renew()) this.#idle.push(browser);
      else this.#discard(browser);
    };
    track(this.#renewals, renewed(), () => this.#serve());
  }

  /** Drops kept pages after their idle timeout, and earlier if the pool has no fresh page. */
  #dropKept(): void {
    const { idleTimeoutMs, giveWayMs } = this.#keptPages;
    const isOlder = (browser: CaptureBrowser, ms: number) => performance.now() - (browser.keptSince ?? 0) > ms;
    // The first page is the one that was used longest ago.
    const [first, ...others] = this.#idle.filter(isKept);
    const isFreshOneMissing = this.#idle.every(isKept) && this.#launches.size + this.#renewals.size === 0;
    if (first && isOlder(first, isFreshOneMissing ? Math.min(giveWayMs, idleTimeoutMs) : idleTimeoutMs))
      this.#renew(first);
    for (const browser of others) if (isOlder(browser, idleTimeoutMs)) this.#renew(browser);
  }

  #launchMissing(spares: number): void {
    const { maxBrowsers, isWarm } = this.#options;
    const own = this.#waiting.filter((waiting) => waiting.own).length;
    // To make room, idle browsers that have served captures are closed.
    const excess = this.#browsers.size + own - maxBrowsers;
    for (const browser of this.#idle.splice(0, Math.max(0, Math.min(excess, own)))) this.#discard(browser);
    const room = maxBrowsers - this.#browsers.size;
    const wanted = isWarm ? room : Math.min(room, this.#waiting.length + spares);
    while (this.#launches.size < wanted && !this.#closed.signal.aborted) {
      const isSpare = this.#launches.size >= this.#waiting.length;
      track(this.#launches, this.#launch(isSpare), () => this.#serve());
    }
  }

  /**
   * Adds a browser. If it does not start, a warm pool retries; another pool fails the capture that waits for it. Never throws.
   */
  async #launch(isSpare: boolean): Promise<void> {
    const { log, isWarm } = this.#options;
    while (!this.#closed.signal.aborted) {
      try {
        this.#add(await this.#launchOne());
        return;
      } catch (error) {
        this.#launchFailures += 1;
        log.error({ err: error, failures: this.#launchFailures }, 'starting a browser failed');
        if (!isWarm) {
          const waiting = isSpare ? undefined : this.#waiting.shift();
          waiting?.reject(new BrowserLostError('the browser did not start', { cause: error }));
          return;
        }
        await delay(backoffMs(this.#launchFailures, backoff.baseMs, backoff.maxMs), this.#closed.signal);
      }
    }
  }

  async #launchOne(): Promise<CaptureBrowser> {
    const { log } = this.#options;
    const start = performance.now();
    const browser = await CaptureBrowser.launch(this.#options, (failed, reason) => {
      log.warn({ reason, pid: failed.launched.pid }, 'browser failed');
      // If the failed browser runs a capture, it is replaced when that capture has ended.
      if (this.#idle.includes(failed)) this.#serve();
    });
    this.#launchFailures = 0;
    log.info({ pid: browser.launched.pid, ms: Math.round(performance.now() - start) }, 'browser started');
    return browser;
  }

  #add(browser: CaptureBrowser): void {
    this.#browsers.add(browser);
    this.#idle.push(browser);
    this.#serve();
    this.#startIdleTimer();
  }

  async #release(browser: CaptureBrowser, { own, reuseFor }: Waiting, hasCompleted: boolean): Promise<void> {
    const { capturesPerBrowser } = this.#options;
    // Browsers are replaced one by one. Others that are due continue to serve.
    const isUsedUp = browser.served >= capturesPerBrowser && this.#launches.size === 0;
    const mayContinue = !own && !isUsedUp && browser.isUsable;
    const mayKeep = mayContinue && hasCompleted && reuseFor !== undefined;
    const isWiped = mayKeep && (await browser.keep(reuseFor, this.#keptPages.maxCaptures));
    if (isWiped || (mayContinue && browser.isUsable && (await browser.renew()))) this.#idle.push(browser);
    else this.#discard(browser);
    // A launch takes one processor for half a second. The pool therefore launches a browser when a capture has ended, and not while one
    // starts.
    this.#serve(own ? 1 : 0);
    this.#startIdleTimer();
  }

  /** Closes a browser. Returns false, which means that the browser is not kept. */
  #discard(browser: CaptureBrowser): false {
    this.#browsers.delete(browser);
    track(this.#closings, browser.close());
    return false;
  }

  #startIdleTimer(): void {
    const { isWarm, idleTimeoutMs } = this.#options;
    clearTimeout(this.#idleTimer);
    if (isWarm || this.#closed.signal.aborted) return;
    this.#idleTimer = setTimeout(() => {
      for (const browser of this.#idle.splice(0)) this.#discard(browser);
    }, idleTimeoutMs);
    this.#idleTimer.unref();
  }
}

const isKept = ({ keptFor }: CaptureBrowser) => keptFor !== undefined;

/** Keeps a promise in a set until it settles. */
function track(all: Set<Promise<void>>, work: Promise<void>, onDone?: () => void): void {
  const tracked = work.finally(() => {
    all.delete(tracked);
    onDone?.();
  });
  all.add(tracked);
}
