import { setImmediate } from 'node:timers/promises';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright';
import type { EgressProxy } from '../egress/proxy.ts';
import type { ProxySession } from '../egress/proxy.ts';
import { watchActivityScript } from './activity.ts';
import type { LaunchedBrowser } from './launch.ts';
import { windowSize } from './switches.ts';

/** The browser went away while a page of it was in use. Whose fault it was is not known: it may be another page's. */
export class BrowserLostError extends Error {
  constructor(message = 'the browser went away', options?: { cause: unknown }) {
    super(message, options);
    this.name = 'BrowserLostError';
  }
}

/** Opens the proxy sessions of pages. */
export type PageEgress = Pick<EgressProxy, 'openSession'>;

/** How a page of another browser than the headless shell is opened. */
export interface PageSetup {
  readonly contextOptions: BrowserContextOptions;
  /** Run in the page before its own scripts. */
  readonly initScripts: readonly string[];
}

/** A session of the protocol with a page. */
export type PageSession = Pick<CDPSession, 'send' | 'on' | 'off'>;

/** One beside that of Playwright: what is set in it ends with it. */
export type OwnSession = PageSession & Pick<CDPSession, 'detach'>;

/** A page in a context of its own that has been nowhere yet. One capture uses it, and then it is closed. */
export interface WarmPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /**
   * Shared with Playwright, which has Page and Network enabled in it, unless the page may be used again: whoever enables Fetch or
   * Runtime needs another one.
   */
  readonly cdp: PageSession;
  readonly proxySession: ProxySession;
  /** Of its main frame, in the protocol; it stays the same wherever the page goes. */
  readonly frameId: string;
  /** Has sites answered that ask for a name and a password, where the browser would ask somebody; until then the answer is no. */
  readonly answerLogins: (answer: LoginAnswer) => void;
  /** Whether its process is gone: it can open nothing any more. */
  crashed(): boolean;
}

/** What a site that asks for a name and a password is answered. The id is that of the request, in one session. */
export type LoginAnswer = (asked: {
  readonly requestId: string;
  readonly authChallenge: { readonly source?: 'Server' | 'Proxy'; readonly origin: string };
}) =>
  | { readonly response: 'CancelAuth' }
  | { readonly response: 'ProvideCredentials'; readonly username: string; readonly password: string };

const openTimeoutMs = 20_000;
const closeTimeoutMs = 5000;

/** Playwright is told of each first listener for these, and of each last one that goes: with one that stays, it is told once. */
const networkEvents = ['request', 'response', 'requestfinished', 'requestfailed'] as const;

const ignore = () => undefined;

/**
 * In the headless shell a page may close, resize and move its own window. In a tab of the full browser these functions do nothing. A
 * frame of the page could call its own ones on the page's window, so all frames have these. `print` would tell the page at once that it has
 * been printed, and many pages then leave.
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
 * Opens a context with a proxy session of its own, and a page in it.
 *
 * @throws DeadlineError when the browser does not answer
 */
export async function openWarmPage(
  { browser }: LaunchedBrowser,
  egress: PageEgress,
  setup?: PageSetup,
): Promise<WarmPage> {
  const proxySession = await egress.openSession();
  let context: BrowserContext | undefined;
  const open = async (): Promise<WarmPage> => {
    // The capture sets the size itself, which on a warm page takes a millisecond.
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
    // What still opens a window (a link with a target, clicked by a script) opens it for nobody.
    opened.on('page', (popup) => void popup.close().catch(() => undefined));
    if (!setup) await setDefaultMetrics(cdp);
    const answerLogins = (answer: LoginAnswer) => void (answerLogin = answer);
    return { context: opened, page, cdp, proxySession, frameId, answerLogins, crashed: () => crashed };
  };
  try {
    return await withDeadline(asOneCall(browser, open), openTimeoutMs, 'opening a page');
  } catch (error) {
    void context?.close().catch(() => undefined);
    await proxySession.close();
    throw error;
  }
}

/** Closes the context and then its proxy session. False when the browser does not answer: it should be replaced. */
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

/** A page while one capture uses it. */
export interface CapturePage extends WarmPage {
  /** Whether {@link cdp} is of this capture alone, in which case it may enable everything there. */
  readonly hasOwnSession: boolean;
  /** Whether the whole browser is gone, not only this page. */
  readonly browserLost: () => boolean;
  /** Whether the browser answers, within a second. */
  readonly responds: () => Promise<boolean>;
  /** Aborts when the page has taken more than a capture may; the reason is the ServiceError that the capture ends with. */
  readonly exceeded: AbortSignal;
  /**
   * Closes the page, whatever state it is in. Call it once; never throws. `timedOut` says that the capture did not come to
   * an end by itself, which many pages have to answer for, and sometimes the browser; without `hasCompleted` no other capture
   * uses the page.
   */
  readonly release: (end?: { readonly timedOut: boolean; readonly hasCompleted?: boolean }) => Promise<void>;
  /** Has something undone that was set by Playwright, which keeps it for the page, before another capture uses the page. */
  readonly undoLater: (step: () => Promise<unknown>) => void;
}

/**
 * Answers every site that asks for a name and a password. The full browser would show a prompt and hold the answer
 * back until somebody fills it in; after a no the page is what comes with the refusal, as in the headless shell.
 */
async function watchLogins(page: Page, answer: LoginAnswer): Promise<void> {
  // A session of its own: what captures do with theirs does not end it.
  const session = await page.context().newCDPSession(page);
  // Rejections: the page or the request went away meanwhile.
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  });
  session.on('Fetch.authRequired', ({ requestId, authChallenge }) => {
    const authChallengeResponse = answer({ requestId, authChallenge });
    session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  await session.send('Fetch.enable', { handleAuthRequests: true });
}

/** What this uses of Playwright's own objects, which are not part of its public interface. */
interface Internals {
  readonly _connection?: {
    toImpl?(object: Page | BrowserContext): Implementation;
  };
  _wrapApiCall?<T>(call: () => Promise<T>, options: { readonly internal: true }): Promise<T>;
}

/** Of a page or of a context. */
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
 * The session that Playwright has with the page, and the id of its main frame. With a second one, Chromium tells all that happens
 * to the page twice, and a command goes through six more steps of Playwright's, which take longer than the command.
 *
 * Opens a second one where Playwright is not built as it is now; a test holds this against the installed one.
 */
async function openSession(page: Page): Promise<{ readonly cdp: PageSession; readonly frameId: string }> {
  const delegate = implementationOf(page)?.delegate;
  const [shared, targetId] = [delegate?._mainFrameSession?._client, delegate?._targetId];
  // The main frame of a page bears the id of its target.
  if (shared && targetId !== undefined) return { cdp: inOrder(shared), frameId: targetId };
  const cdp = await openOwnSession(page);
  const { frameTree } = await cdp.send('Page.getFrameTree');
  return { cdp, frameId: frameTree.frame.id };
}

/** A session of its own in which a capture is told what happens to the page. */
export async function openOwnSession(page: Page): Promise<OwnSession> {
  const session = await attachSession(page);
  await session.send('Page.enable');
  return session;
}

/**
 * A session of its own with nothing enabled. Its commands and events do not go through Playwright's steps either.
 *
 * One of Playwright's public sessions where that is not built as it is now; a test holds this against the installed one.
 */
export async function attachSession(page: Page): Promise<OwnSession> {
  const opened = await implementationOf(page.context())?.newCDPSession?.(implementationOf(page));
  const own = opened?._session;
  return own ? { ...inOrder(own), detach: () => own.detach() } : page.context().newCDPSession(page);
}

interface PageAnswer {
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
}

/**
 * Answers the requests of a page that match the pattern, inside of the browser.
 *
 * @param session in which nobody else enables Fetch; not the one of Playwright, which goes on with what is paused in it
 * @returns ends it; never rejects
 */
export async function answerRequests(
  session: PageSession,
  pattern: { readonly urlPattern: string; readonly resourceType?: 'Document' },
  { headers, body }: PageAnswer,
): Promise<() => Promise<void>> {
  const encoded = Buffer.from(body, 'utf8').toString('base64');
  const fulfill = ({ requestId }: { readonly requestId: string }) => {
    const answer = { requestId, responseCode: 200, responseHeaders: [...headers], body: encoded };
    // Rejects when the page is gone.
    void session.send('Fetch.fulfillRequest', answer).catch(() => undefined);
  };
  session.on('Fetch.requestPaused', fulfill);
  await session.send('Fetch.enable', { patterns: [pattern] });
  return async () => {
    session.off('Fetch.requestPaused', fulfill);
    await session.send('Fetch.disable').catch(() => undefined);
  };
}

/** A command that fails since the page or its browser went away fails after the events that say so, as in a session of its own. */
function inOrder(session: DriverSession): PageSession {
  const send = async (...command: Parameters<CDPSession['send']>) => {
    try {
      return await session.send(...command);
    } catch (error) {
      // Events come in the next turn of the event loop.
      await setImmediate();
      await setImmediate();
      throw error;
    }
  };
  return { send: send as CDPSession['send'], on: session.on.bind(session), off: session.off.bind(session) };
}

/**
 * Runs work that calls Playwright again and again as if it were one call: at each call of its own, Playwright takes a stack trace for
 * an error that may come, which is a tenth of what a capture costs this process.
 *
 * Only runs it where Playwright is not built as it is now; a test holds this against the installed one.
 */
export async function asOneCall<T>(on: Browser | Page, work: () => Promise<T>): Promise<T> {
  const internals = on as unknown as Internals;
  if (internals._wrapApiCall === undefined) return work();
  // An error that passes through would be rewritten.
  const [done] = await internals._wrapApiCall(() => Promise.allSettled([work()]), { internal: true });
  if (done.status === 'rejected') throw done.reason;
  return done.value;
}

/**
 * Ends Playwright's listening to the page's console and scripts. Captures need none of it, a page that logs without end
 * keeps this process busy with it, and with somebody listening what a page logs is read at once, which it can tell by an
 * error that is formatted.
 *
 * Does nothing where Playwright is not built as it is now; a test holds this against the installed one.
 */
async function stopListening(page: Page): Promise<void> {
  await implementationOf(page)?.delegate?._mainFrameSession?._client?.send('Runtime.disable');
}

/**
 * Sets the languages of workers, as in Accept-Language, for a context that has been nowhere yet. Chromium starts a worker when any
 * session of it says so, and Playwright's says so at once: only what Playwright itself sends before that is there when the worker's
 * script runs.
 *
 * Does nothing where Playwright is not built as it is now; a test holds this against the installed one.
 */
export function declareLanguages(context: BrowserContext, acceptLanguage: string): void {
  const options = implementationOf(context)?._options;
  // For a frame with a process of its own, Playwright also sets the locale, which a list is not: that fails, and what is set for the
  // frame elsewhere holds.
  if (options) options.locale = acceptLanguage;
}

/**
 * Whether an error of a request says that the browser did not find its proxy. When Chromium's network process dies, the
 * next one forgets the proxies of the contexts that are there: their pages reach nothing any more.
 */
export const hasLostProxy = (netError: string | undefined): boolean =>
  netError?.includes('ERR_PROXY_CONNECTION_FAILED') ?? false;
