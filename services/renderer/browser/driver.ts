import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Readable, Writable } from 'node:stream';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright';
import installed from 'playwright/package.json' with { type: 'json' };
import manifest from '../package.json' with { type: 'json' };
import { fileDecoder } from './file-responses.ts';

// The only file that knows private objects of Playwright.

/** A CDP session with a page. */
export type PageSession = Pick<CDPSession, 'send' | 'on' | 'off'>;

/** A separate session from Playwright's. Its settings end when it is detached. */
export type OwnSession = PageSession & Pick<CDPSession, 'detach'>;

/** Thrown at the launch of a browser if a private object of Playwright that the renderer uses is missing. */
export class UnsupportedPlaywrightError extends Error {
  constructor(missing: string) {
    super(
      `Playwright ${installed.version} is not supported, because its private object ${missing} is missing. Install Playwright ${manifest.dependencies.playwright}, as in package.json.`,
    );
    this.name = 'UnsupportedPlaywrightError';
  }
}

type DriverSession = OwnSession & {
  send(...command: Parameters<CDPSession['send']>): Promise<unknown>;
};

/** The session with the whole browser. */
interface RootSession {
  readonly _sessionId: string;
  readonly _connection: object;
  prependListener(event: 'Target.attachedToTarget', listener: (attached: AttachedTarget) => void): void;
  off(event: 'Target.attachedToTarget', listener: (attached: AttachedTarget) => void): void;
}

interface AttachedTarget {
  readonly sessionId: string;
  readonly targetInfo: { readonly type: string; readonly browserContextId?: string };
}

interface PublicObjects {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
}

/** The private members that the renderer uses of Playwright's implementations of its public objects. */
interface Implementations {
  readonly browser: {
    readonly _connection: {
      readonly rootSession: RootSession;
      readonly _transport: {
        readonly _pipeRead: Readable;
        readonly _pipeWrite: Writable;
        _dispatch(chunk: Buffer): void;
        onmessage?(message: unknown): void;
      };
    };
  };
  readonly context: {
    readonly _browser: Implementations['browser'];
    readonly _browserContextId: string;
    readonly _options: { locale?: string };
    newCDPSession(page: Implementations['page']): Promise<{ readonly _session: DriverSession }>;
  };
  readonly page: {
    readonly delegate: {
      readonly _targetId: string;
      readonly _mainFrameSession: { readonly _client: DriverSession };
    };
  };
}

/** The private members that the renderer uses of the public objects themselves. */
interface Internals {
  readonly _connection: { toImpl(object: object): object };
  _wrapApiCall<T>(call: () => Promise<T>, options: { readonly internal: true }): Promise<T>;
}

const publicMembers = ['_wrapApiCall', '_connection.toImpl'];
const implementationMembers: Readonly<Record<keyof Implementations, readonly string[]>> = {
  browser: [
    '_connection.rootSession.send',
    '_connection.rootSession.prependListener',
    '_connection.rootSession._sessionId',
    '_connection.rootSession._connection',
    '_connection._transport._pipeRead',
    '_connection._transport._pipeWrite',
    '_connection._transport._dispatch',
  ],
  context: ['_browser._connection.rootSession', '_browserContextId', '_options', 'newCDPSession'],
  page: ['delegate._targetId', 'delegate._mainFrameSession._client.send'],
};

/** @throws UnsupportedPlaywrightError */
function implementationOf<K extends keyof Implementations>(kind: K, object: PublicObjects[K]): Implementations[K] {
  assertMembers(kind, object, publicMembers);
  const implementation = (object as unknown as Internals)._connection.toImpl(object);
  assertMembers(`implementation of the ${kind}`, implementation, implementationMembers[kind]);
  return implementation as Implementations[K];
}

function assertMembers(name: string, object: unknown, paths: readonly string[]): void {
  for (const path of paths) {
    let found = object;
    for (const member of path.split('.')) {
      found = (found as Readonly<Record<string, unknown>> | null | undefined)?.[member];
    }
    if (found === undefined) throw new UnsupportedPlaywrightError(`${path} of the ${name}`);
  }
}

/**
 * Checks all private objects of Playwright that the renderer uses, with the first page of a browser.
 *
 * @throws UnsupportedPlaywrightError that names the object which is missing
 */
export async function checkDriver(browser: Browser, page: Page): Promise<void> {
  implementationOf('browser', browser);
  implementationOf('page', page);
  await (await attachSession(page)).detach();
}

/**
 * Returns Playwright's session with the page and the id of its main frame. A second session would be slower: Chromium would send every
 * event of the page twice, and each command would pass six more layers of Playwright, which cost more time than the command.
 */
export function sharedSessionOf(page: Page): { readonly cdp: PageSession; readonly frameId: string } {
  const { _mainFrameSession: session, _targetId: targetId } = implementationOf('page', page).delegate;
  // The main frame of a page has the id of its target.
  return { cdp: settleEventsBeforeErrors(session._client), frameId: targetId };
}

/** Opens a separate session in which no domain is enabled. Its commands and events bypass Playwright's layers. */
export async function attachSession(page: Page): Promise<OwnSession> {
  const context = implementationOf('context', page.context());
  const opened = await context.newCDPSession(implementationOf('page', page));
  assertMembers('session', opened, ['_session.send', '_session.detach', '_session._eventListener']);
  const session = opened._session;
  return { ...settleEventsBeforeErrors(session), detach: () => session.detach() };
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
 * this takes a tenth of this process's time.
 */
export async function withoutCallTraces<T>(on: Browser | Page, work: () => Promise<T>): Promise<T> {
  // Playwright would change an error that passes through this function.
  const [done] = await (on as unknown as Internals)._wrapApiCall(() => Promise.allSettled([work()]), {
    internal: true,
  });
  if (done.status === 'rejected') throw done.reason;
  return done.value;
}

/**
 * Sets the languages of workers, as in Accept-Language, for an unused context. Chromium starts a worker as soon as one of its sessions
 * allows it, and Playwright's session does so immediately. When the worker's script runs, only the commands apply that Playwright itself
 * has sent before.
 */
export function declareLanguages(context: BrowserContext, acceptLanguage: string): void {
  // Playwright also sets the locale, which cannot be a list, in a frame with a separate process. That command fails, and the frame keeps
  // the setting that it has otherwise.
  implementationOf('context', context)._options.locale = acceptLanguage;
}

/** Delays by the ids of Playwright's sessions with service workers that have not started yet, in milliseconds. */
const startDelays = new Map<string, number>();

/**
 * Lets other sessions prepare the service workers of a context. Chromium starts a worker as soon as one of its sessions allows it, and
 * Playwright's session does so immediately. From now on it waits for `delayMs`, until the context closes or the returned function is
 * called. Needs {@link messagesOf}.
 */
export function delayServiceWorkers(context: BrowserContext, delayMs: number): () => void {
  const { _browser: browser, _browserContextId: contextId } = implementationOf('context', context);
  const { rootSession } = browser._connection;
  // Playwright's own listener, which allows the start, runs after this one.
  const onAttached = ({ sessionId, targetInfo: { type, browserContextId } }: AttachedTarget) => {
    if (type === 'service_worker' && browserContextId === contextId) startDelays.set(sessionId, delayMs);
  };
  const stop = () => {
    rootSession.off('Target.attachedToTarget', onAttached);
    context.off('close', stop);
  };
  rootSession.prependListener('Target.attachedToTarget', onAttached);
  context.once('close', stop);
  return stop;
}

/**
 * Makes Playwright's messages cheaper: it writes those to a browser together, takes no stack trace for each, does not copy those with a
 * file, and omits some ({@link responseOfOmitted}). Pages that are already open are not affected.
 *
 * @returns the pipe with the messages of the browser, each of which ends with a zero
 */
export function messagesOf(browser: Browser): Readable {
  const { rootSession, _transport: transport } = implementationOf('browser', browser)._connection;
  patchSend(rootSession);
  withoutUnused.add(rootSession._connection);
  gatherWrites(transport._pipeWrite);
  const dispatch = transport._dispatch.bind(transport);
  transport._dispatch = fileDecoder(dispatch, (message) => transport.onmessage?.(message));
  return transport._pipeRead;
}

/**
 * Writes all messages of one turn of the event loop together. Playwright writes each message and its terminating zero separately, and a
 * dozen messages open a page.
 */
function gatherWrites(pipe: Writable): void {
  const write = pipe.write.bind(pipe) as (chunk: string) => boolean;
  pipe.write = (chunk: string) => {
    if (pipe.writableCorked === 0) {
      pipe.cork();
      process.nextTick(() => pipe.uncork());
    }
    return write(chunk);
  };
}

/** Private members of any session. */
interface AnySession {
  readonly _sessionId: string;
  readonly _connection: object;
  /** Set if the session was opened by a call, and not by Playwright itself. */
  readonly _eventListener?: unknown;
  send: Send;
}

type Send = (method: string, params?: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** Classes of sessions that are already patched. */
const patched = new WeakSet<object>();

/** Connections in which Playwright's own sessions omit what the renderer does not use. */
const withoutUnused = new WeakSet<object>();

/**
 * Returns the response to a command that Playwright sends to each page, frame and worker for functions that the renderer does not use, and
 * undefined for other commands. The renderer runs its scripts in its own sessions. While `Runtime` or `Log` is enabled, a page that logs
 * continuously would keep this process busy, and the browser formats logged errors immediately, which the page can detect. Playwright's
 * world is another context of V8 in each frame. Without all three, Chromium takes 4% less processor time for a tiny page.
 */
function responseOfOmitted(method: string, { worldName }: Readonly<Record<string, unknown>>): object | undefined {
  if (method === 'Runtime.enable' || method === 'Log.enable') return {};
  if (typeof worldName !== 'string' || !worldName.startsWith('__playwright_utility_world')) return undefined;
  return method === 'Page.createIsolatedWorld' ? { executionContextId: 0 } : { identifier: '' };
}

/**
 * Disables the stack traces of Playwright's commands. Playwright creates an error for each command in advance, with a trace of its internal
 * calls that is not used. The errors keep their messages, which name the command. Also applies {@link delayServiceWorkers} and
 * {@link responseOfOmitted}.
 */
function patchSend(session: object): void {
  const sessions = Object.getPrototypeOf(session) as AnySession;
  const { send } = sessions;
  if (patched.has(sessions)) return;
  patched.add(sessions);
  sessions.send = function (method, params) {
    if (this._eventListener === undefined && withoutUnused.has(this._connection)) {
      const response = responseOfOmitted(method, params ?? {});
      if (response !== undefined) return Promise.resolve(response);
    }
    const delayMs = method === 'Runtime.runIfWaitingForDebugger' ? startDelays.get(this._sessionId) : undefined;
    if (delayMs !== undefined) {
      startDelays.delete(this._sessionId);
      return setTimeout(delayMs, undefined, { ref: false }).then(() => this.send(method, params));
    }
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      // Playwright creates the error synchronously.
      return send.call(this, method, params);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}
