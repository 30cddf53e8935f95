import { setImmediate } from 'node:timers/promises';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright';
import type { EgressProxy } from '../egress/proxy.ts';
import type { ProxySession } from '../egress/proxy.ts';
import { watchActivityScript } from './activity.ts';
import type { LaunchedBrowser } from './launch.ts';
import { windowSize } from './switches.ts';

/** The browser exited while a page of it was in use. The cause is unknown: it may be another page. */
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

/** A CDP session with a page. */
export type PageSession = Pick<CDPSession, 'send' | 'on' | 'off'>;

/** A session that is separate from Playwright's: its settings end with it. */
export type OwnSession = PageSession & Pick<CDPSession, 'detach'>;

/** An unused page in a new context. One capture uses the page; then it is closed. */
export interface WarmPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /**
   * Shared with Playwright, which has enabled Page and Network in it, unless the page may be reused. Code that enables Fetch or Runtime
   * needs a separate session.
   */
  readonly cdp: PageSession;
  readonly proxySession: ProxySession;
  /** CDP id of the main frame; it does not change when the page navigates. */
  readonly frameId: string;
  /** Sets the answer for sites that request credentials, where the browser would prompt; by default the login is cancelled. */
  readonly answerLogins: (answer: LoginAnswer) => void;
  /** Whether the page's process has crashed, so that the page can no longer navigate. */
  crashed(): boolean;
}

/** Returns the answer to a site that requests credentials. The id is that of the request, in one session. */
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
 * In the headless shell a page can close, resize and move its own window. In a tab of the full browser these functions do nothing. A frame
 * could call its own functions on the page's window, so the script replaces them in all frames. `print` would report at once that the page
 * has been printed, and many pages then navigate.
 */
const keepWindowScript = `for (const name of ['close', 'print', 'resizeTo', 'resizeBy', 'moveTo', 'moveBy']) window[name] = { [name]() {} }[name];`;

/**
 * Sets the default viewport for a page of the headless shell, independent of its window. Without it, `screen.orientation.lock` turns the screen
 * of the whole browser, also for later pages. When one of two sessions with such an override ends, the override ends for both, so it must be set
 * again in the other.
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
    // The capture sets the size, which takes 1 ms on a warm page.
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
    const [{ cdp, frameId }] = await Promise.all([
      openSession(page),
      ...(setup?.initScripts ?? [`${keepWindowScript} ${watchActivityScript}`]).map((content) =>
        page.addInitScript({ content }),
      ),
      ...(setup ? [watchLogins(page, (asked) => answerLogin(asked))] : []),
      stopListening(page),
    ]);
    // Closes the windows that a page can still open, for example by a script that clicks a link with a target.
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
   * Closes the page in any state. Call it once; it never throws. `timedOut` says that the capture did not end by itself, which in most
   * cases is the fault of the page and sometimes of the browser. Without `hasCompleted`, the page is not reused.
   */
  readonly release: (end?: { readonly timedOut: boolean; readonly hasCompleted?: boolean }) => Promise<void>;
  /** Registers a step that runs before another capture uses the page. It removes a setting of Playwright that stays with the page. */
  readonly undoLater: (step: () => Promise<unknown>) => void;
}

/**
 * Answers every site that requests credentials. The full browser would show a prompt and withhold the response until the prompt is filled
 * in. When the login is cancelled, the page shows the body of the refusal, as in the headless shell.
 */
async function watchLogins(page: Page, answer: LoginAnswer): Promise<void> {
  // A separate session, because captures may detach theirs.
  const session = await page.context().newCDPSession(page);
  // Rejected when the page or the request no longer exists.
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  });
  session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
    const authChallengeResponse = answer({ requestId, authChallenge });
    session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { handleAuthRequests: true });
}

/** The parts of Playwright's internal objects that this module uses; they are not part of the public interface. */
interface Internals {
  readonly _connection?: {
    toImpl?(object: Page | BrowserContext): Implementation;
  };
  _wrapApiCall?<T>(call: () => Promise<T>, options: { readonly internal: true }): Promise<T>;
}

/** Implementation of a page or of a context. */
interface Implementation {
  readonly delegate?: {
    readonly _targetId?: string;
    readonly _mainFrameSession?: { readonly _client?: DriverSession };
  };
  readonly _options?: { locale?: string };
  newCDPSession?(page: Implementation | undefined): Promise<{ readonly _session?: DriverSession }>;
}

type DriverSession = OwnSession & {
  send(...command: Parameters<CDPSession['send']>): Promise<unknown>;
};

function implementationOf(object: Page | BrowserContext): Implementation | undefined {
  return (object as unknown as Internals)._connection?.toImpl?.(object);
}

/**
 * Returns Playwright's session with the page and the id of its main frame. With a second session, Chromium sends every event of the page
 * twice, and each command passes six more layers of Playwright, which cost more time than the command.
 *
 * Opens a second session if Playwright's internals differ; a test checks the installed version.
 */
async function openSession(page: Page): Promise<{ readonly cdp: PageSession; readonly frameId: string }> {
  const delegate = implementationOf(page)?.delegate;
  const [shared, targetId] = [delegate?._mainFrameSession?._client, delegate?._targetId];
  // The main frame of a page has the id of its target.
  if (shared && targetId !== undefined) return { cdp: settleEventsBeforeErrors(shared), frameId: targetId };
  const cdp = await openOwnSession(page);
  const { frameTree } = await cdp.send('Page.getFrameTree');
  return { cdp, frameId: frameTree.frame.id };
}

/** Opens a separate session in which a capture receives the events of the page. */
export async function openOwnSession(page: Page): Promise<OwnSession> {
  const session = await attachSession(page);
  await session.send('Page.enable');
  return session;
}

/**
 * Stops the scripts and the loading of a page permanently. These are among the few commands that reach a page whose main thread is busy.
 */
export async function stopActivity(cdp: PageSession): Promise<void> {
  await Promise.all([
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    cdp.send('Runtime.terminateExecution'),
    cdp.send('Page.stopLoading'),
  ]);
}

/**
 * Opens a separate session in which no domain is enabled. Its commands and events bypass Playwright's layers.
 *
 * Returns one of Playwright's public sessions if Playwright's internals differ; a test checks the installed version.
 */
export async function attachSession(page: Page): Promise<OwnSession> {
  const opened = await implementationOf(page.context())?.newCDPSession?.(implementationOf(page));
  const own = opened?._session;
  return own ? { ...settleEventsBeforeErrors(own), detach: () => own.detach() } : page.context().newCDPSession(page);
}

interface PageAnswer {
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
}

/**
 * Answers the requests of a page that match the pattern, within the browser.
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
 * Delays the failure of a command that fails because the page or its browser closed until after the events of the closure, as in a separate
 * session.
 */
function settleEventsBeforeErrors(session: DriverSession): PageSession {
  const send = async (...command: Parameters<CDPSession['send']>) => {
    try {
      return await session.send(...command);
    } catch (error) {
      // Events arrive in the next turn of the event loop.
      await setImmediate();
      await setImmediate();
      throw error;
    }
  };
  return { send: send as CDPSession['send'], on: session.on.bind(session), off: session.off.bind(session) };
}

/**
 * Runs work with many Playwright calls as one call. For each of its calls, Playwright captures a stack trace for a possible error, which
 * takes a tenth of this process's time for a capture.
 *
 * Runs the work unchanged if Playwright's internals differ; a test checks the installed version.
 */
export async function withoutCallTraces<T>(on: Browser | Page, work: () => Promise<T>): Promise<T> {
  const internals = on as unknown as Internals;
  if (internals._wrapApiCall === undefined) return work();
  // Playwright would rewrite an error that passes through.
  const [done] = await internals._wrapApiCall(() => Promise.allSettled([work()]), { internal: true });
  if (done.status === 'rejected') throw done.reason;
  return done.value;
}

/**
 * Removes Playwright's listeners for the page's console and scripts. Captures do not need them, and a page that logs continuously would
 * keep this process busy. With a listener, the browser also formats logged errors at once, which the page can detect.
 *
 * Does nothing if Playwright's internals differ; a test checks the installed version.
 */
async function stopListening(page: Page): Promise<void> {
  await implementationOf(page)?.delegate?._mainFrameSession?._client?.send('Runtime.disable');
}

/**
 * Sets the languages of workers, as in Accept-Language, for an unused context. Chromium starts a worker as soon as one of its sessions
 * allows it, and Playwright's session does so at once. Only the commands that Playwright itself sends before that apply when the worker's
 * script runs.
 *
 * Does nothing if Playwright's internals differ; a test checks the installed version.
 */
export function declareLanguages(context: BrowserContext, acceptLanguage: string): void {
  const options = implementationOf(context)?._options;
  // For a frame with a separate process, Playwright also sets the locale, which cannot be a list. That command fails, and the setting that
  // the frame has from elsewhere applies.
  if (options) options.locale = acceptLanguage;
}

/**
 * Whether an error of a request says that the browser did not find its proxy. When Chromium's network process dies, the new one has no
 * proxies for the existing contexts: their pages cannot reach any server.
 */
export const hasLostProxy = (netError: string | undefined): boolean =>
  netError?.includes('ERR_PROXY_CONNECTION_FAILED') ?? false;
