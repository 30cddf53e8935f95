import { setImmediate } from 'node:timers/promises';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright';
import type { EgressProxy } from '../egress/proxy.ts';
import type { ProxySession } from '../egress/proxy.ts';
import { watchActivityScript } from './activity.ts';
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

/** A CDP session with a page. */
export type PageSession = Pick<CDPSession, 'send' | 'on' | 'off'>;

/** A separate session from Playwright's. Its settings end when it is detached. */
export type OwnSession = PageSession & Pick<CDPSession, 'detach'>;

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
    const [{ cdp, frameId }] = await Promise.all([
      openSession(page),
      ...(setup?.initScripts ?? [`${keepWindowScript} ${watchActivityScript}`]).map((content) =>
        page.addInitScript({ content }),
      ),
      ...(setup ? [watchLogins(page, (asked) => answerLogin(asked))] : []),
      stopListening(page),
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
  // The session is separate, because captures may detach theirs.
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
 * Returns Playwright's session with the page and the id of its main frame. A second session would be slower: Chromium would send every
 * event of the page twice, and each command would pass six more layers of Playwright, which cost more time than the command. A second
 * session is opened only if Playwright's internals differ; a test checks the installed version.
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

/** Stops the scripts and the loading of a page permanently. These commands, unlike most others, reach a page whose main thread is busy. */
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
 * Delays the failure of a command that fails because the page or its browser closed. It then follows the events of the closure, as in a
 * separate session.
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
 * Runs work with many Playwright calls as one call. For each call, Playwright captures a stack trace for a possible error. For a capture
 * this takes a tenth of this process's time. Runs the work unchanged if Playwright's internals differ; a test checks the installed version.
 */
export async function withoutCallTraces<T>(on: Browser | Page, work: () => Promise<T>): Promise<T> {
  const internals = on as unknown as Internals;
  if (internals._wrapApiCall === undefined) return work();
  // Playwright would change an error that passes through this function.
  const [done] = await internals._wrapApiCall(() => Promise.allSettled([work()]), { internal: true });
  if (done.status === 'rejected') throw done.reason;
  return done.value;
}

/**
 * Removes Playwright's listeners for the page's console and scripts. Captures do not need them, and a page that logs continuously would
 * keep this process busy. If a listener exists, the browser also formats logged errors immediately, which the page can detect. Does nothing
 * if Playwright's internals differ; a test checks the installed version.
 */
async function stopListening(page: Page): Promise<void> {
  await implementationOf(page)?.delegate?._mainFrameSession?._client?.send('Runtime.disable');
}

/**
 * Sets the languages of workers, as in Accept-Language, for an unused context. Chromium starts a worker as soon as one of its sessions
 * allows it, and Playwright's session does so immediately. When the worker's script runs, only the commands apply that Playwright itself
 * has sent before. Does nothing if Playwright's internals differ; a test checks the installed version.
 */
export function declareLanguages(context: BrowserContext, acceptLanguage: string): void {
  const options = implementationOf(context)?._options;
  // Playwright also sets the locale, which cannot be a list, in a frame with a separate process. That command fails, and the frame keeps
  // the setting that it has otherwise.
  if (options) options.locale = acceptLanguage;
}

/**
 * Whether an error of a request says that the browser did not find its proxy. If Chromium's network process dies, the new one does not know
 * the proxies of the existing contexts, and their pages cannot reach any server.
 */
export const hasLostProxy = (netError: string | undefined): boolean =>
  netError?.includes('ERR_PROXY_CONNECTION_FAILED') ?? false;
