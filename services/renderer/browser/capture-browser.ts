import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Browser, CDPSession, Request } from 'playwright';
import type { LaunchedBrowser } from './launch.ts';
import { MessageFlow } from './message-flow.ts';
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
import type { GuardedCapture, ResourceGuard } from './resource-guard.ts';

/** What browsers and their pages are opened with. */
export interface BrowserSource {
  readonly launch: () => Promise<LaunchedBrowser>;
  readonly egress: PageEgress;
  readonly setup?: PageSetup;
  readonly guard: ResourceGuard;
  /** A browser that answers nothing for so many milliseconds is killed: its capture need not wait for its own end. */
  readonly livenessTimeoutMs: number;
}

/** For a browser to answer, where it is asked whether it is there. */
const answerTimeoutMs = 1000;

/**
 * One browser, from its launch to its end. It works at one capture at a time: captures that run beside each other share no
 * process. Between two of them, its next page is opened.
 */
export class CaptureBrowser {
  readonly launched: LaunchedBrowser;
  readonly #source: BrowserSource;
  readonly #onFailure: (reason: string) => void;
  readonly #liveness: Liveness;
  readonly #stopGuard: () => void;
  #warm: WarmPage | undefined;
  /** That of its capture, or of the last one. */
  #used: WarmPage | undefined;
  #capture: GuardedCapture | undefined;
  #served = 0;
  #hasFailed = false;
  #mayServeAgain = true;

  private constructor(launched: LaunchedBrowser, source: BrowserSource, onFailure: (reason: string) => void) {
    this.launched = launched;
    this.#source = source;
    this.#onFailure = onFailure;
    const { pid, folder, browser } = launched;
    const flow = new MessageFlow(browser);
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
   * @param onFailure it is of no use any more: it went away, or was killed since it does not do what it is told. Called at
   *   most once, and not once it is closed
   * @throws Error that says what is missing, or BrowserLostError when the browser opens no page
   */
  static async launch(
    source: BrowserSource,
    onFailure: (browser: CaptureBrowser, reason: string) => void,
  ): Promise<CaptureBrowser> {
    const launched = await source.launch();
    const browser: CaptureBrowser = new CaptureBrowser(launched, source, (reason) => onFailure(browser, reason));
    try {
      browser.#warm = await openWarmPage(launched, source.egress, source.setup);
      return browser;
    } catch (error) {
      await browser.close();
      throw new BrowserLostError('the browser started, but opened no page', { cause: error });
    }
  }

  /** Captures that it has worked at. */
  get served(): number {
    return this.#served;
  }

  /** Whether it can work at another capture, once it has a page for it. */
  get isUsable(): boolean {
    return this.#mayServeAgain && !this.#hasFailed && this.isConnected;
  }

  get isConnected(): boolean {
    return this.launched.browser.isConnected();
  }

  /** Whether it has a page for the next capture. */
  get isReady(): boolean {
    const page = this.#warm;
    return this.isUsable && page !== undefined && !page.page.isClosed() && !page.crashed();
  }

  /**
   * Its page, for one capture.
   *
   * @param onRelease the capture has ended: `renew` or `close` is to follow
   */
  take(onRelease: () => Promise<void>): CapturePage {
    const page = this.#warm;
    if (page === undefined) throw new BrowserLostError('the browser has no page');
    this.#warm = undefined;
    this.#used = page;
    this.#served += 1;
    const exceeded = new AbortController();
    this.#capture = {
      onExceeded: (failure) => {
        // First, so that the capture ends by this, and not by the loss of its browser.
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
      exceeded: exceeded.signal,
      browserLost: () => !this.isConnected,
      responds: () => this.#liveness.responds(answerTimeoutMs),
      release: async (end) => {
        // Its proxy session may be closed before it is.
        page.context.off('requestfailed', onRequestFailed);
        this.#capture = undefined;
        // A part of the browser that hangs is not found out by anything else.
        if (end?.timedOut) this.#mayServeAgain = false;
        await onRelease();
      },
    };
  }

  /** Closes the page of the last capture and opens the next one; whether it did. */
  async renew(): Promise<boolean> {
    const { egress, setup } = this.#source;
    const last = this.#used;
    if (last && !(await closeWarmPage(last))) return false;
    this.#used = undefined;
    try {
      this.#warm = await openWarmPage(this.launched, egress, setup);
    } catch {
      return false;
    }
    return this.isReady;
  }

  /** Ends it with all that runs in it. Never throws. */
  async close(): Promise<void> {
    // What it does from now on is no failure.
    this.#hasFailed = true;
    this.#stop();
    // What hangs, or floods it, hardly lets it close in order.
    if (!this.#mayServeAgain) this.launched.kill();
    await this.launched.close();
    // Not before: their ports may be given to the next page.
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

/** Whether a question was answered is looked at so often while the time-out lasts. */
const checksPerTimeout = 15;

/**
 * Asks a browser again and again whether it is there. One that leaves a question unanswered for `timeoutMs` hangs:
 * `onUnresponsive` is called, once. Time is counted in checks: when it was this process that stood still, or had no
 * processor, the browser gets the time that it had not.
 */
class Liveness {
  readonly #session: Promise<CDPSession>;
  readonly #timer: NodeJS.Timeout;
  #asking = false;
  #unanswered = 0;

  constructor(browser: Browser, timeoutMs: number, onUnresponsive: () => void) {
    this.#session = browser.newBrowserCDPSession();
    // It may go away before anything is asked.
    this.#session.catch(() => undefined);
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

  /** Whether the browser answers a question within so many milliseconds. */
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
    // Rejects when the browser went away, which others hear of.
    await this.#ask().catch(() => this.stop());
    this.#asking = false;
  }

  async #ask(): Promise<void> {
    await (await this.#session).send('Browser.getVersion');
  }
}
