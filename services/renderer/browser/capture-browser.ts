import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Browser, CDPSession, Request } from 'playwright';
import { checkDriver, type OwnSession, UnsupportedPlaywrightError } from './driver.ts';
import type { LaunchedBrowser } from './launch.ts';
import { PipeThrottle } from './pipe-throttle.ts';
import { ReuseBlockers, wipePage, type WipeOutcome } from './page-wipe.ts';
import {
  BrowserLostError,
  closeWarmPage,
  hasLostProxy,
  openOwnSession,
  openWarmPage,
  type CapturePage,
  type PageEgress,
  type PageSetup,
  type WarmPage,
} from './page.ts';
import type { GuardedCapture, ResourceGuard } from './resource-guard.ts';

/** The options with which browsers and their pages are opened. */
export interface BrowserSource {
  readonly launch: () => Promise<LaunchedBrowser>;
  readonly egress: PageEgress;
  readonly setup?: PageSetup;
  readonly guard: ResourceGuard;
  /** Time in milliseconds after which a browser that does not answer is killed. Its capture then does not wait for its own deadline. */
  readonly livenessTimeoutMs: number;
  /** Called for each capture that reuses the page of an earlier one. */
  readonly onPageReused?: () => void;
  /** Called with the outcome for each page that was selected for reuse. */
  readonly onWipe?: (outcome: WipeOutcome) => void;
}

/** Timeout of a liveness check. */
const answerTimeoutMs = 1000;
const sessionTimeoutMs = 10_000;

/**
 * One browser, from its launch to its end. It runs one capture at a time, so parallel captures share no process. Its next page is opened
 * between two captures.
 */
export class CaptureBrowser {
  readonly launched: LaunchedBrowser;
  readonly #source: BrowserSource;
  readonly #onFailure: (reason: string) => void;
  readonly #liveness: Liveness;
  readonly #stopGuard: () => void;
  #warm: WarmPage | undefined;
  /** The page of the current or last capture. */
  #used: WarmPage | undefined;
  #keepable: KeepablePage | undefined;
  #kept: KeptPage | undefined;
  #capture: GuardedCapture | undefined;
  #served = 0;
  #hasFailed = false;
  #mayServeAgain = true;

  private constructor(launched: LaunchedBrowser, source: BrowserSource, onFailure: (reason: string) => void) {
    this.launched = launched;
    this.#source = source;
    this.#onFailure = onFailure;
    const { pid, folder, browser } = launched;
    const flow = new PipeThrottle(browser);
    this.#stopGuard = source.guard.watch({
      pid,
      folder,
      messages: () => flow.messages,
      capture: () => this.#capture,
    });
    this.#liveness = new Liveness(browser, source.livenessTimeoutMs, () => this.#fail('the browser does not respond'));
    browser.on('disconnected', () => this.#fail('the browser exited'));
  }

  /**
   * Launches a browser and opens its first page.
   *
   * @param onFailure called at most once when the browser becomes unusable because it exited, or was killed because it did not respond; not
   * called after `close`
   * @throws Error that says what is missing (also UnsupportedPlaywrightError), or BrowserLostError if the browser opens no page
   */
  static async launch(
    source: BrowserSource,
    onFailure: (browser: CaptureBrowser, reason: string) => void,
  ): Promise<CaptureBrowser> {
    const launched = await source.launch();
    let browser: CaptureBrowser;
    try {
      browser = new CaptureBrowser(launched, source, (reason) => onFailure(browser, reason));
    } catch (error) {
      await launched.close();
      throw error;
    }
    try {
      const warm = (browser.#warm = await openWarmPage(launched, source.egress, source.setup));
      await withDeadline(checkDriver(launched.browser, warm.page), sessionTimeoutMs, 'checking the driver');
      return browser;
    } catch (error) {
      await browser.close();
      if (error instanceof UnsupportedPlaywrightError) throw error;
      throw new BrowserLostError('the browser started, but opened no page', { cause: error });
    }
  }

  /** Number of captures that the browser has run. */
  get served(): number {
    return this.#served;
  }

  /** Whether the browser can run another capture once it has a page. */
  get isUsable(): boolean {
    return this.#mayServeAgain && !this.#hasFailed && this.isConnected;
  }

  get isConnected(): boolean {
    return this.launched.browser.isConnected();
  }

  /** The account whose capture used the page last, and may reuse it; undefined for an unused page. */
  get keptFor(): string | undefined {
    return this.#kept?.account;
  }

  /** Value of `performance.now()` at which the page was wiped; undefined for an unused page. */
  get keptSince(): number | undefined {
    return this.#kept?.since;
  }

  /** Whether the browser has a page for the next capture. */
  get isReady(): boolean {
    const page = this.#warm;
    return this.isUsable && page !== undefined && !page.page.isClosed() && !page.crashed();
  }

  /**
   * Returns the page for one capture.
   *
   * @param onRelease called when the capture has ended, with a flag whether it completed; must call `keep`, `renew` or `close`
   */
  take(onRelease: (hasCompleted: boolean) => Promise<void>): CapturePage {
    const page = this.#warm;
    if (page === undefined) throw new BrowserLostError('the browser has no page');
    this.#warm = undefined;
    this.#used = page;
    this.#served += 1;
    page.proxySession.resume();
    const exceeded = new AbortController();
    this.#capture = {
      onExceeded: (failure) => {
        // The signal aborts first, so that the capture fails with this error and not because it lost its browser.
        exceeded.abort(failure);
        this.#fail(failure.message);
      },
      onYield: () => (this.#mayServeAgain = false),
    };
    const onRequestFailed = (request: Request) => {
      if (hasLostProxy(request.failure()?.errorText)) this.#fail('the browser has lost its proxies');
    };
    page.context.on('requestfailed', onRequestFailed);
    return {
      ...page,
      hasOwnSession: false,
      exceeded: exceeded.signal,
      browserLost: () => !this.isConnected,
      responds: () => this.#liveness.responds(answerTimeoutMs),
      undoLater: (step) => void this.#keepable?.undo.push(step),
      release: async (end) => {
        // The listener is removed because the proxy session may close before the page.
        page.context.off('requestfailed', onRequestFailed);
        this.#capture = undefined;
        // No other check detects a part of the browser that hangs.
        if (end?.timedOut) this.#mayServeAgain = false;
        await onRelease(end?.hasCompleted === true);
      },
    };
  }

  /**
   * Like {@link take}, for a page that may be kept: its capture has a CDP session that is not shared.
   *
   * @throws BrowserLostError if the page does not answer
   */
  async takeToKeep(onRelease: (hasCompleted: boolean) => Promise<void>): Promise<CapturePage> {
    const kept = this.#kept;
    this.#kept = undefined;
    const taken = this.take(onRelease);
    if (kept) this.#source.onPageReused?.();
    try {
      const opening = kept?.session ?? withDeadline(openOwnSession(taken.page), sessionTimeoutMs, 'opening a session');
      const session = await opening;
      this.#keepable = { session, undo: [], traces: new ReuseBlockers(taken), captures: (kept?.captures ?? 0) + 1 };
      return { ...taken, cdp: session, hasOwnSession: true };
    } catch (error) {
      void taken.release();
      throw new BrowserLostError('the new page does not respond', { cause: error });
    }
  }

  /**
   * Wipes the page of the last capture for the next capture of the same account. Does nothing if `maxCaptures` captures have used the page.
   * Returns whether the page can be reused; if not, the caller must call `renew`.
   */
  async keep(account: string, maxCaptures: number): Promise<boolean> {
    const [last, keepable] = [this.#used, this.#keepable];
    if (last === undefined || keepable === undefined || keepable.captures >= maxCaptures) return false;
    const { session, traces, undo, captures } = keepable;
    const { outcome, page } = await wipePage({ ...last, cdp: session }, traces, await this.#liveness.session, undo);
    this.#source.onWipe?.(outcome);
    if (page === undefined) return false;
    this.#used = this.#keepable = undefined;
    this.#kept = { account, session: page.cdp, since: performance.now(), captures };
    this.#warm = page;
    return this.isReady;
  }

  /** Closes the page of the last capture and opens the next one. Returns whether that succeeded. */
  async renew(): Promise<boolean> {
    const { egress, setup } = this.#source;
    const last = this.#used ?? this.#warm;
    this.#warm = this.#kept = undefined;
    this.#keepable?.traces.stop();
    this.#keepable = undefined;
    if (last && !(await closeWarmPage(last))) return false;
    this.#used = undefined;
    try {
      this.#warm = await openWarmPage(this.launched, egress, setup);
    } catch {
      return false;
    }
    return this.isReady;
  }

  /** Closes the browser with everything that runs in it. Never throws. */
  async close(): Promise<void> {
    // Errors after this point are not failures of the browser.
    this.#hasFailed = true;
    this.#stop();
    // A browser that hangs, or that floods this process with messages, does not close in order.
    if (!this.#mayServeAgain) this.launched.kill();
    await this.launched.close();
    // The ports of the sessions may be given to other pages, so the sessions close after the browser.
    await Promise.all([this.#warm?.proxySession.close(), this.#used?.proxySession.close()]);
  }

  #fail(reason: string): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#mayServeAgain = false;
    this.#stop();
    this.launched.kill();
    this.#onFailure(reason);
  }

  #stop(): void {
    this.#stopGuard();
    this.#liveness.stop();
  }
}

/** State of a page in use that may be kept, until it is wiped or closed. */
interface KeepablePage {
  /** Only this capture uses the session. */
  readonly session: OwnSession;
  readonly traces: ReuseBlockers;
  /** Steps to undo before another capture uses the page. */
  readonly undo: (() => Promise<unknown>)[];
  /** Number of captures that have used the page, including this one. */
  readonly captures: number;
}

/** State of a page that was wiped. */
interface KeptPage {
  readonly account: string;
  /** The session that the next capture of the page uses. */
  readonly session: OwnSession;
  readonly since: number;
  readonly captures: number;
}

/** Number of liveness checks within one timeout. */
const checksPerTimeout = 15;

/**
 * Checks periodically that a browser answers. If an answer takes `timeoutMs`, the browser hangs and `onUnresponsive` is called once. The
 * time is counted in checks, so that a pause of this process is not mistaken for a hanging browser.
 */
class Liveness {
  /** A session with the whole browser. */
  readonly session: Promise<CDPSession>;
  readonly #timer: NodeJS.Timeout;
  #asking = false;
  #unanswered = 0;

  constructor(browser: Browser, timeoutMs: number, onUnresponsive: () => void) {
    this.session = browser.newBrowserCDPSession();
    // The browser may exit before the first check.
    this.session.catch(() => undefined);
    this.#timer = setInterval(() => {
      this.#unanswered = this.#asking ? this.#unanswered + 1 : 0;
      if (!this.#asking) void this.#askAgain();
      else if (this.#unanswered >= checksPerTimeout) {
        this.stop();
        onUnresponsive();
      }
    }, timeoutMs / checksPerTimeout);
    this.#timer.unref();
  }

  /** Whether the browser answers within `ms` milliseconds. */
  responds(ms: number): Promise<boolean> {
    return withDeadline(this.#ask(), ms, 'asking the browser').then(
      () => true,
      () => false,
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #askAgain(): Promise<void> {
    this.#asking = true;
    // The request rejects if the browser exited, which other listeners handle.
    await this.#ask().catch(() => this.stop());
    this.#asking = false;
  }

  async #ask(): Promise<void> {
    await (await this.session).send('Browser.getVersion');
  }
}
