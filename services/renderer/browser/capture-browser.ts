import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Browser, CDPSession, Request } from 'playwright';
import type { LaunchedBrowser } from './launch.ts';
import { MessageFlow } from './message-flow.ts';
import { PageTraces, wipePage, type WipeOutcome } from './page-wipe.ts';
import {
  BrowserLostError,
  closeWarmPage,
  hasLostProxy,
  openOwnSession,
  openWarmPage,
  type CapturePage,
  type OwnSession,
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
  /** Called for each capture that gets the page of an earlier one. */
  readonly onPageReused?: () => void;
  /** Called for each page that was to be used again, when that is settled. */
  readonly onWipe?: (outcome: WipeOutcome) => void;
}

/** For a browser to answer, where it is asked whether it is there. */
const answerTimeoutMs = 1000;
const sessionTimeoutMs = 10_000;

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
    let browser: CaptureBrowser;
    try {
      browser = new CaptureBrowser(launched, source, (reason) => onFailure(browser, reason));
    } catch (error) {
      await launched.close();
      throw error;
    }
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

  /** Whose capture used its page last, and may use it again; undefined for a page that nobody has used. */
  get keptFor(): string | undefined {
    return this.#kept?.account;
  }

  /** `performance.now()` of when its page was wiped; undefined for a page that nobody has used. */
  get keptSince(): number | undefined {
    return this.#kept?.since;
  }

  /** Whether it has a page for the next capture. */
  get isReady(): boolean {
    const page = this.#warm;
    return this.isUsable && page !== undefined && !page.page.isClosed() && !page.crashed();
  }

  /**
   * Its page, for one capture.
   *
   * @param onRelease the capture has ended: `keep`, `renew` or `close` is to follow. It is told whether it completed
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
      hasOwnSession: false,
      exceeded: exceeded.signal,
      browserLost: () => !this.isConnected,
      responds: () => this.#liveness.responds(answerTimeoutMs),
      undoLater: (step) => void this.#keepable?.undo.push(step),
      release: async (end) => {
        // Its proxy session may be closed before it is.
        page.context.off('requestfailed', onRequestFailed);
        this.#capture = undefined;
        // A part of the browser that hangs is not found out by anything else.
        if (end?.timedOut) this.#mayServeAgain = false;
        await onRelease(end?.hasCompleted === true);
      },
    };
  }

  /**
   * As {@link take}, with a page that may be kept: its capture has a session of its own.
   *
   * @throws BrowserLostError when the page does not answer
   */
  async takeToKeep(onRelease: (hasCompleted: boolean) => Promise<void>): Promise<CapturePage> {
    const kept = this.#kept;
    this.#kept = undefined;
    const taken = this.take(onRelease);
    if (kept) this.#source.onPageReused?.();
    try {
      const opening = kept?.session ?? withDeadline(openOwnSession(taken.page), sessionTimeoutMs, 'opening a session');
      const session = await opening;
      this.#keepable = { session, undo: [], traces: new PageTraces(taken), captures: (kept?.captures ?? 0) + 1 };
      return { ...taken, cdp: session, hasOwnSession: true };
    } catch (error) {
      void taken.release();
      throw new BrowserLostError('the new page does not respond', { cause: error });
    }
  }

  /**
   * Wipes the page of the last capture, for the next one of the same account, unless so many have used it; whether it did.
   * Otherwise `renew` is to follow.
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

  /** Closes the page of the last capture and opens the next one; whether it did. */
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

/** What is known of a page in use that may be kept, until it is wiped or closed. */
interface KeepablePage {
  /** Of its capture alone. */
  readonly session: OwnSession;
  readonly traces: PageTraces;
  /** What has to be undone before another capture uses it. */
  readonly undo: (() => Promise<unknown>)[];
  /** Captures that have used it, this one included. */
  readonly captures: number;
}

/** What is known of a page that was wiped. */
interface KeptPage {
  readonly account: string;
  /** Of its next capture. */
  readonly session: OwnSession;
  readonly since: number;
  readonly captures: number;
}

/** Whether a question was answered is looked at so often while the time-out lasts. */
const checksPerTimeout = 15;

/**
 * Asks a browser again and again whether it is there. One that leaves a question unanswered for `timeoutMs` hangs:
 * `onUnresponsive` is called, once. Time is counted in checks: when it was this process that stood still, or had no
 * processor, the browser gets the time that it had not.
 */
class Liveness {
  /** Of the whole browser. */
  readonly session: Promise<CDPSession>;
  readonly #timer: NodeJS.Timeout;
  #asking = false;
  #unanswered = 0;

  constructor(browser: Browser, timeoutMs: number, onUnresponsive: () => void) {
    this.session = browser.newBrowserCDPSession();
    // It may go away before anything is asked.
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
    await (await this.session).send('Browser.getVersion');
  }
}
