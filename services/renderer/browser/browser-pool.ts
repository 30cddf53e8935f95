import { backoffMs, delay, withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { type BrowserSource, CaptureBrowser } from './capture-browser.ts';
import { BrowserLostError, type CapturePage } from './page.ts';

export interface BrowserPoolOptions extends BrowserSource {
  readonly log: Logger;
  /** Browsers at most. */
  readonly maxBrowsers: number;
  /** Whether all of them are up ahead of need. Without, each is launched for a capture, and closed when nothing comes. */
  readonly isWarm: boolean;
  readonly capturesPerBrowser: number;
  /** Of a pool that is not warm: browsers are closed after so many milliseconds without work. */
  readonly idleTimeoutMs: number;
  /** By default as in {@link keptPageDefaults}. */
  readonly keptPages?: Partial<typeof keptPageDefaults>;
}

/** For pages that are kept for another capture of their account. Times are in milliseconds. */
const keptPageDefaults = {
  /** A page grows by each document that it has shown: what it holds is collected when it is closed. */
  maxCaptures: 50,
  /** How long a page is kept without work. */
  idleTimeoutMs: 60_000,
  /** So long after its last capture, a page gives way to one for anybody, where the pool has none. */
  giveWayMs: 1000,
  checkIntervalMs: 1000,
};

export type BrowserState = 'up' | 'down';

/** How long a capture waits for a browser that is on its way. */
const acquireTimeoutMs = 30_000;
const backoff = { baseMs: 200, maxMs: 10_000 };

interface Waiting extends PromiseWithResolvers<CapturePage> {
  readonly own: boolean;
  readonly reuseFor: string | undefined;
}

/**
 * Browsers of one kind, each for one capture at a time. With one more than captures run at a time, the next capture finds a
 * browser with a warm page while the page of the last one is closed, and while a browser is replaced: after so many
 * captures, when a capture timed out in it, and when it fails.
 */
export class BrowserPool {
  readonly #options: BrowserPoolOptions;
  readonly #closed = new AbortController();
  readonly #browsers = new Set<CaptureBrowser>();
  /** With a page that is ready; the last one was used last. */
  #idle: CaptureBrowser[] = [];
  #waiting: Waiting[] = [];
  readonly #launches = new Set<Promise<void>>();
  readonly #closings = new Set<Promise<void>>();
  /** Kept pages that are being replaced by fresh ones. */
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
   * Starts a pool. Its first browser is up then; a pool that is kept warm launches the others beside the first captures.
   *
   * @throws Error that says what is missing when the browser cannot be started
   */
  static async start(options: BrowserPoolOptions): Promise<BrowserPool> {
    const pool = new BrowserPool(options);
    pool.#add(await pool.#launchOne());
    return pool;
  }

  /** `up` also for the moment in which all browsers are being replaced: a capture that comes then waits for the first one. */
  get state(): BrowserState {
    if ([...this.#browsers].some((browser) => browser.isConnected)) return 'up';
    return this.#launchFailures === 0 && !this.#closed.signal.aborted ? 'up' : 'down';
  }

  /**
   * A page for one capture, in a browser that works at no other one meanwhile.
   *
   * @param own whether the browser is to serve this capture and no other one, before or after it
   * @param reuseFor the account whose earlier capture may have used the page, and whose next one may use it; by default nobody's
   * @throws BrowserLostError when there is no browser, and none comes in time
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
      // It may come at this very moment: then nobody wants it.
      void waiting.promise.then((page) => page.release()).catch(() => undefined);
      if (error instanceof BrowserLostError) throw error;
      throw new BrowserLostError('there is no browser', { cause: error });
    }
  }

  /** Ends all browsers, with the captures that still run in them. */
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
   * Gives what is idle to who waits, and launches what is missing.
   *
   * @param spares to launch beyond what is waited for; a pool that is kept warm launches all
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
    // What is idle now is kept for others than those who wait: it gives way.
    const wanted = this.#waiting.filter(({ own }) => !own).length - this.#renewals.size;
    for (const browser of this.#idle.filter(isKept).slice(0, Math.max(0, wanted))) this.#renew(browser);
    this.#launchMissing(spares);
  }

  /**
   * For a capture of its own a browser that has served nobody; for others one with the page that is kept for them, or a fresh
   * page, rather in a browser that has served.
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

  /** Replaces a page that is kept by a fresh one. */
  #renew(browser: CaptureBrowser): void {
    this.#idle = this.#idle.filter((idle) => idle !== browser);
    const renewed = async () => {
      if (await browser.renew()) this.#idle.push(browser);
      else this.#discard(browser);
    };
    track(this.#renewals, renewed(), () => this.#serve());
  }

  /** No page is kept for long, and none while there is no fresh one for anybody else. */
  #dropKept(): void {
    const { idleTimeoutMs, giveWayMs } = this.#keptPages;
    const isOlder = (browser: CaptureBrowser, ms: number) => performance.now() - (browser.keptSince ?? 0) > ms;
    // The one that was used longest ago comes first.
    const [first, ...others] = this.#idle.filter(isKept);
    const isFreshOneMissing = this.#idle.every(isKept) && this.#launches.size + this.#renewals.size === 0;
    if (first && isOlder(first, isFreshOneMissing ? Math.min(giveWayMs, idleTimeoutMs) : idleTimeoutMs))
      this.#renew(first);
    for (const browser of others) if (isOlder(browser, idleTimeoutMs)) this.#renew(browser);
  }

  #launchMissing(spares: number): void {
    const { maxBrowsers, isWarm } = this.#options;
    const own = this.#waiting.filter((waiting) => waiting.own).length;
    // Those that are idle now have served others: they make room.
    const crowding = this.#browsers.size + own - maxBrowsers;
    for (const browser of this.#idle.splice(0, Math.max(0, Math.min(crowding, own)))) this.#discard(browser);
    const room = maxBrowsers - this.#browsers.size;
    const wanted = isWarm ? room : Math.min(room, this.#waiting.length + spares);
    while (this.#launches.size < wanted && !this.#closed.signal.aborted) {
      const isSpare = this.#launches.size >= this.#waiting.length;
      track(this.#launches, this.#launch(isSpare), () => this.#serve());
    }
  }

  /**
   * Adds a browser. When it does not start, a pool that is warm tries again; else the capture fails that waits for it.
   * Never throws.
   */
  async #launch(isSpare: boolean): Promise<void> {
    const { log, isWarm } = this.#options;
    while (!this.#closed.signal.aborted) {
      try {
        this.#add(await this.#launchOne());
        return;
      } catch (error) {
        this.#launchFailures += 1;
        log.error({ err: error, failures: this.#launchFailures }, 'a browser could not be started');
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
      log.warn({ reason, pid: failed.launched.pid }, 'a browser failed');
      // One that is at work is replaced when its capture has ended.
      if (this.#idle.includes(failed)) this.#serve();
    });
    this.#launchFailures = 0;
    log.info({ pid: browser.launched.pid, ms: Math.round(performance.now() - start) }, 'a browser is up');
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
    // One at a time: those that have served as many as this one go on meanwhile.
    const isUsedUp = browser.served >= capturesPerBrowser && this.#launches.size === 0;
    const mayGoOn = !own && !isUsedUp && browser.isUsable;
    const mayKeep = mayGoOn && hasCompleted && reuseFor !== undefined;
    const isWiped = mayKeep && (await browser.keep(reuseFor, this.#keptPages.maxCaptures));
    if (isWiped || (mayGoOn && browser.isUsable && (await browser.renew()))) this.#idle.push(browser);
    else this.#discard(browser);
    // Launching takes a processor for half a second: not beside the capture that wants it, but when one has ended.
    this.#serve(own ? 1 : 0);
    this.#startIdleTimer();
  }

  /** Ends a browser. Always false: it is not to be kept. */
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

/** Keeps work in a set until it is done. */
function track(all: Set<Promise<void>>, work: Promise<void>, onDone?: () => void): void {
  const tracked = work.finally(() => {
    all.delete(tracked);
    onDone?.();
  });
  all.add(tracked);
}
