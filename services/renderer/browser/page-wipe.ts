import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { CDPSession, Frame } from 'playwright';
import { callExpression, evaluate, openIsolatedWorld } from './isolated-world.ts';
import { answerRequests, openOwnSession, setDefaultMetrics, type OwnSession, type WarmPage } from './page.ts';

/** A page whose capture has a session of its own. */
export type WipeablePage = WarmPage & { readonly cdp: OwnSession };

/** What became of a page that was to be used again: it may, its capture did something that is not undone, or a step failed. */
export const wipeOutcomes = ['wiped', 'refused', 'failed'] as const;
export type WipeOutcome = (typeof wipeOutcomes)[number];

/** After the answer, nobody waits for it; a page that takes longer is closed, which ends whatever keeps it busy. */
const wipeTimeoutMs = 3000;

const worldName = 'webcapture';

/** Of the empty document that a page is left at; no server is asked for it. */
const emptyPath = '/.well-known/webcapture-empty';

/** Without hints: what servers have asked for is remembered for the origin. */
const emptyDocument = {
  headers: [
    { name: 'content-type', value: 'text/html' },
    { name: 'accept-ch', value: '' },
  ],
  body: '',
};

/** All kinds of storage but cookies, which are removed for all sites at once; `local_storage` is that of the session, too. */
const storageTypes =
  'file_systems,indexeddb,local_storage,service_workers,cache_storage,interest_groups,shared_storage,storage_buckets';

/** Where a document is not that of a site: it has no storage, or that of the document around it. */
const isEmptyDocument = (url: string) => url === '' || url === 'about:blank' || url === 'about:srcdoc';

/** Watches a capture for what a wipe of its page does not undo. */
export class PageTraces {
  readonly #page: WarmPage;
  readonly #origins = new Set<string>();
  #hasMore = false;

  constructor(page: WarmPage) {
    this.#page = page;
    page.page.on('framenavigated', this.#navigated).on('worker', this.#did).on('popup', this.#did);
    page.page.on('download', this.#did).on('request', this.#requested).on('websocket', this.#requested);
    page.context.on('page', this.#did).on('serviceworker', this.#did);
  }

  /** The only origin that the page and all frames in it have had; undefined when there was more than that, or nothing. */
  get onlyOrigin(): string | undefined {
    const [origin, ...others] = this.#origins;
    return this.#hasMore || others.length > 0 ? undefined : origin;
  }

  stop(): void {
    const { page, context } = this.#page;
    page.off('framenavigated', this.#navigated).off('worker', this.#did).off('popup', this.#did);
    page.off('download', this.#did).off('request', this.#requested).off('websocket', this.#requested);
    context.off('page', this.#did).off('serviceworker', this.#did);
  }

  readonly #did = (): void => {
    this.#hasMore = true;
  };

  /** The browser keeps a name and a password of an address, and logs in with them again. */
  readonly #requested = (request: { url(): string }): void => {
    if (/^\w+:\/\/[^/?#]*@/.test(request.url())) this.#hasMore = true;
  };

  readonly #navigated = (frame: Frame): void => {
    const url = frame.url();
    if (isEmptyDocument(url)) return;
    // Others, such as data: and blob:, are of an origin that their address does not tell.
    if (/^https?:/.test(url)) this.#origins.add(new URL(url).origin);
    else this.#hasMore = true;
  };
}

/**
 * Removes what a capture has left in its page and its context, so that another capture of the same account may use them. What
 * stays: the HTTP cache, and what the network knows of servers (HSTS, names, TLS sessions).
 *
 * What is not certain to be undone is refused: the page must have been of one origin with all of its frames, and have no worker.
 *
 * @param browserSession of the whole browser
 * @param undo what the capture has set by Playwright, which keeps it for the page
 * @returns the page with a session of its own, its proxy session paused; else what kept it from that: it is to be closed
 */
export async function wipePage(
  page: WipeablePage,
  traces: PageTraces,
  browserSession: CDPSession,
  undo: readonly (() => Promise<unknown>)[],
): Promise<{ readonly outcome: WipeOutcome; readonly page?: WipeablePage }> {
  try {
    const wiped = await withDeadline(wipe(page, traces, browserSession, undo), wipeTimeoutMs, 'wiping a page');
    return wiped === undefined ? { outcome: 'refused' } : { outcome: 'wiped', page: wiped };
  } catch {
    return { outcome: 'failed' };
  } finally {
    traces.stop();
  }
}

async function wipe(
  page: WipeablePage,
  traces: PageTraces,
  browserSession: CDPSession,
  undo: readonly (() => Promise<unknown>)[],
): Promise<WipeablePage | undefined> {
  const { cdp, frameId, proxySession } = page;
  const origin = traces.onlyOrigin;
  // Its connections were cut, and those of the next capture would be too.
  if (origin === undefined || proxySession.stats().limitReached !== undefined) return undefined;
  const [next, { targetInfos }] = await Promise.all([
    openOwnSession(page.page),
    browserSession.send('Target.getTargets'),
    // No dialog holds the page, and it goes nowhere by itself.
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
  ]);
  const own = targetInfos.find(({ targetId }) => targetId === frameId);
  const inContext = targetInfos.filter(({ browserContextId }) => browserContextId === own?.browserContextId);
  // A worker may live on without the page, and write what it likes.
  if (own?.browserContextId === undefined || inContext.length > 1) return undefined;
  const { browserContextId } = own;

  // An empty document of the same origin ends the last one, with its timers, requests and frames. In the same process that is
  // over when the new one is there, whatever the last one does as it is left; from another process it may go on beside it.
  const url = `${origin}${emptyPath}`;
  const [before, stopAnswering] = await Promise.all([
    next.send('Runtime.getIsolateId'),
    answerRequests(next, { urlPattern: url }, emptyDocument),
  ]);
  await page.page.goto(url, { waitUntil: 'commit' });
  const [contextId, after] = await Promise.all([
    openIsolatedWorld(next, frameId, worldName),
    next.send('Runtime.getIsolateId'),
  ]);
  if (before.id !== after.id || traces.onlyOrigin !== origin) return undefined;
  await evaluate(next, { contextId, expression: callExpression(clearTab, []) });
  // A request that outlives its document cannot bring a cookie any more.
  proxySession.pause();
  await Promise.all([
    // What was set by this session ends with it: viewport, scripts that run first, disabled scripts, background.
    cdp.detach(),
    stopAnswering(),
    next.send('Storage.clearDataForOrigin', { origin, storageTypes }),
    next.send('Page.resetNavigationHistory'),
    browserSession.send('Storage.clearCookies', { browserContextId }),
    browserSession.send('Browser.resetPermissions', { browserContextId }),
    ...undo.map((step) => step()),
  ]);
  await setDefaultMetrics(next);
  return { ...page, cdp: next };
}

/** The name of the tab survives its documents, and the names of storage buckets survive the removal of their content. Runs in the page. */
async function clearTab(): Promise<void> {
  // A name that was empty for this document already would not be told to the browser.
  window.name = 'x';
  window.name = '';
  // Where the context is not secure, there are none.
  const { storageBuckets: buckets } = navigator as {
    storageBuckets?: { keys(): Promise<string[]>; delete(name: string): Promise<void> };
  };
  for (const name of (await buckets?.keys()) ?? []) await buckets?.delete(name);
}
