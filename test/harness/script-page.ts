import type { CDPSession, Page } from 'playwright';
import { watchActivityScript } from '../../services/renderer/browser/activity.ts';
import { CaptureDeadline } from '../../services/renderer/page/deadline.ts';
import { PageWorld } from '../../services/renderer/page/world.ts';
import { launchHeadlessShell } from './browser-pool.ts';
import { html } from './engine.ts';
import { workerWide } from './worker-wide.ts';

type Helpers = readonly ((...args: never[]) => unknown)[];

/** Viewport of the page, in CSS pixels. */
const viewport = { width: 640, height: 480 };
const ownUrl = 'http://page.test/';

/** Resources of another origin than the page. */
export const foreign = { frame: 'http://other.test/frame', sheet: 'http://other.test/sheet.css' } as const;

/**
 * A page of 640 × 480 px in a real browser in which tests call single functions of `services/renderer/page/scripts`, as captures do. Calls
 * run in the isolated world of the renderer, so functions of a test can use `own`, `pageState`, `waits` and the helpers of the call.
 */
export class ScriptPage {
  readonly page: Page;
  readonly #cdp: CDPSession;
  readonly #frameId: string;
  #shown = '';
  #world: PageWorld;

  private constructor(page: Page, cdp: CDPSession, frameId: string) {
    this.page = page;
    this.#cdp = cdp;
    this.#frameId = frameId;
    this.#world = this.#openWorld();
  }

  static async start(): Promise<{ readonly page: ScriptPage; readonly close: () => Promise<void> }> {
    const { browser, close } = await launchHeadlessShell();
    const page = await browser.newPage({ viewport });
    const cdp = await page.context().newCDPSession(page);
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const opened = new ScriptPage(page, cdp, frameTree.frame.id);
    await page.addInitScript(watchActivityScript);
    // Requests do not reach the network.
    await page.route('**/*', (route) => {
      const url = route.request().url();
      if (url === ownUrl) return route.fulfill({ contentType: 'text/html; charset=utf-8', body: opened.#shown });
      if (url === foreign.frame)
        return route.fulfill({ contentType: 'text/html', body: html('<p id="inside">text</p>') });
      if (url === foreign.sheet) return route.fulfill({ contentType: 'text/css', body: 'p { height: 50vh }' });
      return route.fulfill({ status: 404, body: '' });
    });
    return { page: opened, close };
  }

  /** Loads a document without margins. */
  async show(body: string, head = ''): Promise<void> {
    this.#shown = html(body, head);
    await this.page.goto(ownUrl);
    this.#world = this.#openWorld();
  }

  /** Calls a function with copies of the arguments. Returns a copy of its result. */
  call<A extends readonly unknown[], R>(fn: (...args: A) => R, args: A, helpers: Helpers = []): Promise<Awaited<R>> {
    return this.#world.call(fn, args, { timeoutMs: 60_000, what: fn.name }, helpers);
  }

  /** Returns a copy of what the function returns in the page. */
  read<R>(fn: () => R, helpers: Helpers = []): Promise<Awaited<R>> {
    return this.call(fn, [], helpers);
  }

  #openWorld(): PageWorld {
    return new PageWorld(this.#cdp, this.#frameId, new CaptureDeadline(300_000, new AbortController().signal));
  }
}

const started = workerWide(
  () => ScriptPage.start(),
  ({ close }) => close(),
);

/** The page that all files of a worker share. */
export const sharedScriptPage = async (): Promise<ScriptPage> => (await started()).page;
