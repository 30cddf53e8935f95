import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { withDeadline } from '@webcapture/shared/lifecycle/deadline.ts';
import type { EgressLane } from '../egress/lane.ts';
import type { EgressProxy } from '../egress/proxy.ts';
import type { LaunchedBrowser } from './launch.ts';
import { refuseLogins } from './refuse-logins.ts';
import { stopListening } from './stop-listening.ts';

/** Opens lanes for pages. */
export type PageEgress = Pick<EgressProxy, 'openLane'>;

/** How a page of another browser than the headless shell is opened. */
export interface PageSetup {
  readonly contextOptions: BrowserContextOptions;
  /** Run in the page before its own scripts. */
  readonly initScripts: readonly string[];
}

/** A page in a context of its own that has been nowhere yet. One capture uses it, and then it is closed. */
export interface WarmPage {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly cdp: CDPSession;
  readonly lane: EgressLane;
  /** Of its main frame, in the protocol; it stays the same wherever the page goes. */
  readonly frameId: string;
  /** Whether its process is gone: it can open nothing any more. */
  crashed(): boolean;
}

const openDeadlineMs = 20_000;
const closeDeadlineMs = 5000;

/** In the headless shell a page may close itself, which would end its own capture. */
const keepOpenScript = `if (window === window.top) Object.defineProperty(window, 'close', { value: function close() {} });`;

/**
 * Opens a context with a lane of its own, and a page in it.
 *
 * @throws DeadlineError when the browser does not answer
 */
export async function openWarmPage(
  { browser }: LaunchedBrowser,
  egress: PageEgress,
  setup?: PageSetup,
): Promise<WarmPage> {
  const lane = await egress.openLane();
  let context: BrowserContext | undefined;
  const open = async (): Promise<WarmPage> => {
    // The capture sets the size itself, which on a warm page takes a millisecond.
    const opened = (context = await browser.newContext({
      viewport: null,
      acceptDownloads: false,
      ...setup?.contextOptions,
      proxy: { server: lane.server },
    }));
    const page = await opened.newPage();
    let crashed = false;
    page.once('crash', () => (crashed = true));
    const openSession = async () => {
      const session = await opened.newCDPSession(page);
      return { session, frameId: (await session.send('Page.getFrameTree')).frameTree.frame.id };
    };
    const [{ session: cdp, frameId }] = await Promise.all([
      openSession(),
      ...(setup?.initScripts ?? [keepOpenScript]).map((content) => page.addInitScript({ content })),
      ...(setup ? [refuseLogins(page), stopListening(page)] : []),
    ]);
    // What still opens a window (a link with a target, clicked by a script) opens it for nobody.
    opened.on('page', (popup) => void popup.close().catch(() => undefined));
    return { context: opened, page, cdp, lane, frameId, crashed: () => crashed };
  };
  try {
    return await withDeadline(open(), openDeadlineMs, 'opening a page');
  } catch (error) {
    void context?.close().catch(() => undefined);
    await lane.close();
    throw error;
  }
}

/** Closes the context and then its lane. False when the browser does not answer: it should be replaced. */
export async function closeWarmPage({ context, lane }: WarmPage): Promise<boolean> {
  try {
    await withDeadline(context.close(), closeDeadlineMs, 'closing a page');
    return true;
  } catch {
    return false;
  } finally {
    await lane.close();
  }
}
