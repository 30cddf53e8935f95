import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright';
import type { EgressProxy } from '../egress/proxy.ts';
import type { ProxySession } from '../egress/proxy.ts';
import { watchActivityScript } from './activity.ts';
import { attachSession, type OwnSession, type PageSession, sharedSessionOf, withoutCallTraces } from './driver.ts';
import type { LaunchedBrowser } from './launch.ts';
import { windowSize } from './switches.ts';

/** Thrown if the browser exited while a page of it was in use. Another page may have caused the exit. */
export class BrowserLostError extends Error {
  constructor(message = 'the browser exited unexpectedly', options?: { cause: unknown }) {
    super(message, options);
    this.name = 'BrowserLostError';
  }
}

/** Opens the proxy sessions of pages. */
export type PageEgress = Pick<EgressProxy, 'openSession'>;

/** Options of a page in a browser other than the headless shell. */
export interface PageSetup {
  readonly contextOptions: BrowserContextOptions;
  /** Scripts that run in the page before its own scripts. */
  readonly initScripts: readonly string[];
}

/** An unused page in a new context. One capture uses the page; then it is closed. */
export interface WarmPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /**
   * The session that Playwright uses too, and in which it has enabled Page and Network. A page that may be reused has a separate session
   * instead. Code that enables Fetch or Runtime needs a separate session.
   */
  readonly cdp: PageSession;
  readonly proxySession: ProxySession;
  /** CDP id of the main frame; it does not change when the page navigates. */
  readonly frameId: string;
  /** Sets the answer for sites that request credentials, for which the browser would prompt. By default the login is cancelled. */
  readonly answerLogins: (answer: LoginAnswer) => void;
  /** Whether the page's process has crashed, so that the page can no longer navigate. */
  crashed(): boolean;
}

/** Returns the answer to a site that requests credentials. The id is that of the request in one session. */
export type LoginAnswer = (asked: {
  readonly requestId: string;
  readonly authChallenge: { readonly source?: 'Server' | 'Proxy'; readonly origin: string };
}) =>
  | { readonly response: 'CancelAuth' }
  | { readonly response: 'ProvideCredentials'; readonly username: string; readonly password: string };

const openTimeoutMs = 20_000;
const closeTimeoutMs = 5000;

/**
 * Playwright sends a command when the first listener for one of these events is added or the last one is removed. A permanent listener
 * avoids these commands.
 */
const networkEvents = ['request', 'response', 'requestfinished', 'requestfailed'] as const;

const ignore = () => undefined;

/**
 * In the headless shell, a page can close, resize and move its own window. In a tab of the full browser these functions do nothing. The
 * script replaces them in all frames, because a frame can call its own functions on the page's window. `print` would report immediately
 * that the page has been printed, and many pages then navigate.
 */
const keepWindowScript = `for (const name of ['close', 'print', 'resizeTo', 'resizeBy', 'moveTo', 'moveBy']) window[name] = { [name]() {} }[name];`;

/**
 * Sets the default viewport for a page of the headless shell, independent of its window. Without it, `screen.orientation.lock` would turn
 * the screen of the whole browser, also for later pages. If two sessions set such an override and one of them ends, the override ends for
 * both. It must then be set again in the other session.
 */
export async function setDefaultMetrics(session: PageSession): Promise<void> {
  await session.send('Emulation.setDeviceMetricsOverride', {
    ...windowSize,
    deviceScaleFactor: 1,
    mobile: false,
    screenOrientationLockEmulation: true,
  });
}

/**
 * Opens a context with a new proxy session, and a page in it.
 *
 * @throws DeadlineError if the browser does not answer
 */
export async function openWarmPage(
  { browser }: LaunchedBrowser,
  egress: PageEgress,
  setup?: PageSetup,
): Promise<WarmPage> {
  const proxySession = await egress.openSession();
  let context: BrowserContext | undefined;
  const open = async (): Promise<WarmPage> => {
    // The capture sets the size itself, which takes 1 ms on a warm page.
    const opened = (context = await browser.newContext({
      viewport: null,
      acceptDownloads: false,
      ...setup?.contextOptions,
      proxy: { server: proxySession.server },
    }));
    const page = await opened.newPage();
    for (const event of networkEvents) page.on(event as 'request', ignore);
    opened.on('requestfailed', ignore);
    let crashed = false;
    let answerLogin: LoginAnswer = () => ({ response: 'CancelAuth' });
    page.once('crash', () => (crashed = true));
    const { cdp, frameId } = sharedSessionOf(page);
    await Promise.all([
      ...(setup?.initScripts ?? [`${keepWindowScript} ${watchActivityScript}`]).map((content) =>
        page.addInitScript({ content }),
      ),
      ...(setup ? [watchLogins(page, (asked) => answerLogin(asked))] : []),
    ]);
    // Windows that a page can still open are closed, for example those of a script that clicks a link with a target.
    opened.on('page', (popup) => void popup.close().catch(() => undefined));
    if (!setup) await setDefaultMetrics(cdp);
    const answerLogins = (answer: LoginAnswer) => void (answerLogin = answer);
    return { context: opened, page, cdp, proxySession, frameId, answerLogins, crashed: () => crashed };
  };
  try {
    return await withDeadline(withoutCallTraces(browser, open), openTimeoutMs, 'opening a page');
  } catch (error) {
    void context?.close().catch(() => undefined);
    await proxySession.close();
    throw error;
  }
}

/** Closes the context and then its proxy session. Returns false if the browser does not answer; it should be replaced. */
export async function closeWarmPage({ context, proxySession }: WarmPage): Promise<boolean> {
  try {
    await withDeadline(context.close(), closeTimeoutMs, 'closing a page');
    return true;
  } catch {
    return false;
  } finally {
    await proxySession.close();
  }
}

/** A page while a capture uses it. */
export interface CapturePage extends WarmPage {
  /** Whether only this capture uses {@link cdp}, in which case it may enable all domains there. */
  readonly hasOwnSession: boolean;
  /** Whether the whole browser has exited, not only this page. */
  readonly browserLost: () => boolean;
  /** Whether the browser answers within 1 s. */
  readonly responds: () => Promise<boolean>;
  /** Aborts when the page exceeds a resource limit; the reason is the ServiceError with which the capture fails. */
  readonly exceeded: AbortSignal;
  /**
   * Closes the page in any state. Call it once; it never throws. `timedOut` means that the capture did not end by itself, usually because
   * of the page and sometimes because of the browser. Without `hasCompleted`, the page is not reused.
   */
  readonly release: (end?: { readonly timedOut: boolean; readonly hasCompleted?: boolean }) => Promise<void>;
  /** Registers a step that removes a setting which Playwright keeps for the page. It runs before another capture uses the page. */
  readonly undoLater: (step: () => Promise<unknown>) => void;
}

/**
 * Answers every site that requests credentials. The full browser would show a prompt and withhold the response until the prompt is filled
 * in. When the login is cancelled, the page shows the body of the refusal, as in the headless shell.
 */
async function watchLogins(page: Page, answer: LoginAnswer): Promise<void> {
  // This session belongs to the page, which is opened before its capture is known. Captures that log in pause requests in their own session.
  const session = await page.context().newCDPSession(page);
  // The command fails if the page or the request no longer exists.
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  });
  session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
    const authChallengeResponse = answer({ requestId, authChallenge });
    session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { handleAuthRequests: true });
}

/** Opens a separate session in which a capture receives the events of the page. */
export async function openOwnSession(page: Page): Promise<OwnSession> {
  const session = await attachSession(page);
  await session.send('Page.enable');
  return session;
}

/** Stops the scripts and the loading of a page permanently. These commands, unlike most others, reach a page whose main thread is busy. */
export async function stopActivity(cdp: PageSession): Promise<void> {
  await Promise.all([
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    cdp.send('Runtime.terminateExecution'),
    cdp.send('Page.stopLoading'),
  ]);
}

interface PageAnswer {
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
}

/**
 * Answers the requests of a page that match the pattern, within the browser. It does not use the `RequestInterceptor` of a capture,
 * because a wipe has no capture, and for supplied HTML without other options its target tree would be another session.
 *
 * @param session a session in which no other code enables Fetch; not Playwright's session, which continues paused requests
 * @returns a function that stops answering; it never rejects
 */
export async function answerRequests(
  session: PageSession,
  pattern: { readonly urlPattern: string; readonly resourceType?: 'Document' },
  { headers, body }: PageAnswer,
): Promise<() => Promise<void>> {
  const encoded = Buffer.from(body, 'utf8').toString('base64');
  const fulfill = ({ requestId }: { readonly requestId: string }) => {
    const answer = { requestId, responseCode: 200, responseHeaders: [...headers], body: encoded };
    // Rejects if the page no longer exists.
    void session.send('Fetch.fulfillRequest', answer).catch(() => undefined);
  };
  session.on('Fetch.requestPaused', fulfill);
  await session.send('Fetch.enable', { patterns: [pattern] });
  return async () => {
    session.off('Fetch.requestPaused', fulfill);
    await session.send('Fetch.disable').catch(() => undefined);
  };
}

/**
 * Whether an error of a request says that the browser did not find its proxy. If Chromium's network process dies, the new one does not know
 * the proxies of the existing contexts, and their pages cannot reach any server.
 */
export const hasLostProxy = (netError: string | undefined): boolean =>
  netError?.includes('ERR_PROXY_CONNECTION_FAILED') ?? false;
