import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { CDPSession, Frame } from 'playwright';
import { callExpression, evaluate, openIsolatedWorld } from './isolated-world.ts';
import type { OwnSession } from './driver.ts';
import { answerRequests, openOwnSession, setDefaultMetrics, type WarmPage } from './page.ts';

/** A page with a CDP session that only the capture of this page uses. */
export type WipeablePage = WarmPage & { readonly cdp: OwnSession };

/**
 * Outcome of a wipe: `wiped` means that the page may be reused, `refused` that the capture did something that cannot be undone, and
 * `failed` that a step of the wipe failed.
 */
export const wipeOutcomes = ['wiped', 'refused', 'failed'] as const;
export type WipeOutcome = (typeof wipeOutcomes)[number];

/**
 * Timeout of the wipe, which runs after the response of the capture. A page that exceeds it is closed, with everything that keeps it busy.
 */
const wipeTimeoutMs = 3000;

const worldName = 'webcapture';

/** Path of the empty document that a wiped page shows; the request reaches no server. */
const emptyPath = '/.well-known/webcapture-empty';

/** The response requests no client hints, because the browser would remember the request for the origin. */
const emptyDocument = {
  headers: [
    { name: 'content-type', value: 'text/html' },
    { name: 'accept-ch', value: '' },
  ],
  body: '',
};

/** All kinds of storage except cookies, which are removed for all sites together. `local_storage` includes session storage. */
const storageTypes =
  'file_systems,indexeddb,local_storage,service_workers,cache_storage,interest_groups,shared_storage,storage_buckets';

/** Whether a document has an opaque site: it has no storage, or uses that of the parent document. */
const isEmptyDocument = (url: string) => url === '' || url === 'about:blank' || url === 'about:srcdoc';

/** Records what a capture does that a wipe of its page cannot undo. */
export class ReuseBlockers {
  readonly #page: WarmPage;
  readonly #origins = new Set<string>();
  #hasMore = false;

  constructor(page: WarmPage) {
    this.#page = page;
    page.page.on('framenavigated', this.#navigated).on('worker', this.#did).on('popup', this.#did);
    page.page.on('download', this.#did).on('request', this.#requested).on('websocket', this.#requested);
    page.context.on('page', this.#did).on('serviceworker', this.#did);
  }

  /** The only origin that the page and all its frames have had; undefined if there were several or none. */
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

  /** If an address contains credentials, the browser stores them and logs in with them again. */
  readonly #requested = (request: { url(): string }): void => {
    if (/^\w+:\/\/[^/?#]*@/.test(request.url())) this.#hasMore = true;
  };

  readonly #navigated = (frame: Frame): void => {
    const url = frame.url();
    if (isEmptyDocument(url)) return;
    // Only web addresses contain their origin; data: and blob: addresses do not.
    if (/^https?:/.test(url)) this.#origins.add(new URL(url).origin);
    else this.#hasMore = true;
  };
}

/**
 * Removes what a capture has left in its page and its context, so that another capture of the same account can use them. The HTTP cache and
 * the network state of servers (HSTS, names, TLS sessions) stay. A page is refused if the wipe is not certain to be complete: the page and
 * all its frames must have had the same origin, and must not have started a worker.
 *
 * @param browserSession a session with the whole browser
 * @param undo removes the settings of the capture that Playwright keeps for the page
 * @returns the outcome and, if wiped, the page with a new session and its proxy session paused; otherwise the caller must close the page
 */
export async function wipePage(
  page: WipeablePage,
  traces: ReuseBlockers,
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
  traces: ReuseBlockers,
  browserSession: CDPSession,
  undo: readonly (() => Promise<unknown>)[],
): Promise<WipeablePage | undefined> {
  const { cdp, frameId, proxySession } = page;
  const origin = traces.onlyOrigin;
  // A reached limit has cut the connections of this capture, and would cut those of the next capture too.
  if (origin === undefined || proxySession.stats().limitReached !== undefined) return undefined;
  const [next, { targetInfos }] = await Promise.all([
    openOwnSession(page.page),
    browserSession.send('Target.getTargets'),
    // While scripts are disabled, no dialog can block the page, and the page cannot navigate.
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
  ]);
  const own = targetInfos.find(({ targetId }) => targetId === frameId);
  const inContext = targetInfos.filter(({ browserContextId }) => browserContextId === own?.browserContextId);
  // A worker may outlive the page and write storage.
  if (own?.browserContextId === undefined || inContext.length > 1) return undefined;
  const { browserContextId } = own;

  // Loading an empty document of the same origin ends the last document, with its timers, requests and frames. Both documents have the same
  // process. The last one, including its unload handlers, has therefore ended when the new one is committed. In another process, it could
  // continue to run.
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
  // While the session is paused, a request that outlives its document cannot set a cookie.
  proxySession.pause();
  await Promise.all([
    // Detaching the session ends its settings: viewport, init scripts, disabled scripts, background.
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

/**
 * Clears the name of the tab, which survives a navigation, and the names of storage buckets, which survive the removal of their content.
 * Runs in the page.
 */
async function clearTab(): Promise<void> {
  // The name is set twice, because the document does not send an empty name to the browser if its own name is already empty.
  window.name = 'x';
  window.name = '';
  // A context that is not secure has no buckets.
  const { storageBuckets: buckets } = navigator as {
    storageBuckets?: { keys(): Promise<string[]>; delete(name: string): Promise<void> };
  };
  for (const name of (await buckets?.keys()) ?? []) await buckets?.delete(name);
}
