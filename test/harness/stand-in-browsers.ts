import { EventEmitter } from 'node:events';
import type { Browsers } from '../../services/renderer/browser/browsers.ts';
import { DocumentGoneError } from '../../services/renderer/browser/isolated-world.ts';
import type { CapturePage } from '../../services/renderer/browser/page.ts';
import { type Answer, type Call, scriptOf } from './answering-page.ts';
import { addPrivateObjects } from './private-objects.ts';

/** The answers of an empty page whose scripts have ended. */
const defaultAnswers: Readonly<Record<string, Answer>> = {
  'Browser.getWindowForTarget': { windowId: 7 },
  'Page.createIsolatedWorld': { executionContextId: 1 },
  untilTimersRan: true,
  scriptsHaveEnded: true,
  hasPainted: true,
  waitForAssets: { loaded: 1, failed: 2, pending: 0, fontsPending: false },
  countImages: { loaded: 1, failed: 2, pending: 0 },
  finishAnimations: 0,
  findFrames: [],
  readPageFacts: { title: 'title', url: 'http://page.test/', wall: false },
  measurePage: { height: 48, width: 64, left: 0, viewHeight: 48, contentHeight: 48 },
};

/** Names and arguments of the scripts that {@link PageWorld} calls with an expression. */
function scriptsIn(expression: string): Call[] {
  const called = /^const results = \[\]; (.*) return results; \}\)\(\) \}$/s.exec(
    expression.split('(async () => { ').at(-1) ?? '',
  );
  const calls =
    called === null
      ? [
          expression
            .slice(0, -2)
            .split(/; +(?=\((?:async )?function )/)
            .at(-1) ?? '',
        ]
      : (called[1] ?? '')
          .split('results.push(await ')
          .slice(1)
          .map((each) => each.trim().slice(0, -2));
  return calls.map(scriptOf);
}

/** Replaces the browsers of a renderer. The test determines the results of the scripts and commands of its only page. */
export class StandInBrowsers {
  /** Names and arguments of commands, scripts and calls of the page, in order. */
  readonly calls: Call[] = [];
  /** Names and parameters of commands in the sessions that a capture opens itself. */
  readonly sessionCalls: Call[] = [];
  /** The requirements of each request for a page. */
  readonly wanted: object[] = [];
  /** The outcomes of the captures. */
  readonly releases: unknown[] = [];
  /** Functions that undo settings before another capture uses the page. */
  readonly undo: (() => Promise<unknown>)[] = [];
  readonly page = new EventEmitter();
  /** The page's session. */
  readonly cdp = new EventEmitter();
  readonly exceeded = new AbortController();
  readonly browsers: Browsers;
  /** The address of the page. */
  url = 'about:blank';

  constructor(answers: Readonly<Record<string, Answer>> = {}, parts: Partial<Record<keyof CapturePage, unknown>> = {}) {
    const answer = async (name: string, args: readonly unknown[], calls = this.calls): Promise<unknown> => {
      calls.push([name, ...args]);
      const given = { ...defaultAnswers, ...answers }[name];
      return typeof given === 'function'
        ? ((await (given as (...all: unknown[]) => unknown)(...args)) as unknown)
        : given;
    };
    const evaluate = async (expression: string) => {
      const results: unknown[] = [];
      const scripts = scriptsIn(expression);
      try {
        for (const [name, ...args] of scripts) results.push(await answer(name, args));
      } catch (error) {
        // The protocol reports an error of the script in the result. If the document is gone, the command itself fails.
        if (error instanceof DocumentGoneError) throw error;
        return { result: {}, exceptionDetails: { text: String(error) } };
      }
      return { result: { value: expression.includes('const results = [];') ? results : results[0] } };
    };
    const send = (name: string, params?: { readonly expression?: string; readonly contextId?: number }) => {
      // Commands with a context call scripts in the isolated world.
      if (name === 'Runtime.evaluate' && params?.contextId !== undefined) return evaluate(params.expression ?? '');
      return answer(name, params === undefined ? [] : [params]);
    };
    const main = {};
    const session = Object.assign(new EventEmitter(), {
      send: (name: string, ...params: readonly unknown[]) => answer(name, params, this.sessionCalls),
      detach: () => answer('detach', [], this.sessionCalls),
    });
    const newCDPSession = async () => {
      await answer('newCDPSession', [], this.sessionCalls);
      return session;
    };
    const context = { newCDPSession };
    addPrivateObjects(this.page, context, newCDPSession);
    Object.assign(this.page, {
      url: () => this.url,
      mainFrame: () => main,
      frames: () => [main],
      isClosed: () => false,
      context: () => context,
      goto: async (url: string, ...rest: readonly unknown[]) => {
        this.url = url;
        await answer('goto', [url, ...rest]);
      },
      ...Object.fromEntries(
        ['waitForLoadState', 'emulateMedia', 'addInitScript'].map((name) => [
          name,
          (...args: readonly unknown[]) => answer(name, args),
        ]),
      ),
    });
    const acquired = {
      page: this.page,
      cdp: Object.assign(this.cdp, { send }),
      hasOwnSession: false,
      proxySession: {
        stats: () => ({ bytesReceived: 0, blockedRequests: 0 }),
        wasBlocked: () => false,
        failureOf: () => undefined,
        setResponseTimeout: (ms: number) => void this.calls.push(['setResponseTimeout', ms]),
        expectSlow: () => () => undefined,
        cutSilent: () => 0,
      },
      frameId: 'main',
      answerLogins: () => undefined,
      undoLater: (step: () => Promise<unknown>) => void this.undo.push(step),
      exceeded: this.exceeded.signal,
      responds: async () => Boolean(await answer('responds', [])),
      release: async (end?: object) => void this.releases.push(end),
      ...parts,
    };
    this.browsers = {
      pageBytes: 1024 ** 3,
      stealth: {
        window: ({ width, height }: { readonly width: number; readonly height: number }) => ({
          screen: { width: width + 1, height: height + 2 },
          outer: { width: width + 3, height: height + 4 },
        }),
      },
      acquire: async (wanted: object) => {
        this.wanted.push(wanted);
        await answer('acquire', []);
        return acquired;
      },
    } as unknown as Browsers;
  }

  /** The names of {@link calls}. */
  get names(): readonly string[] {
    return this.calls.map(([name]) => name);
  }

  /** The arguments of each call with this name. */
  argumentsOf(name: string): readonly unknown[][] {
    return this.calls.filter(([each]) => each === name).map(([, ...args]) => args);
  }
}
