import type { SoftTimeout } from '@webcapture/shared/api/capture.ts';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { errors } from 'playwright';
import { attachSession } from '../browser/driver.ts';
import { answerRequests } from '../browser/page.ts';
import { htmlUrl } from '../html-url.ts';
import { navigationFailure, urlBlocked } from './navigation-failure.ts';
import type { OpenPage } from './open.ts';
import { isWithoutElement, untilReady } from './scripts/waits.ts';

export type RenderSource =
  { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string };

/** Maximum number of navigations that a page may start by itself. */
const maxMoves = 10;

/**
 * Opens the address and waits for `waitUntil`. `timeout` starts with this call. If the transfer is cut off before the first element of the
 * document, the document is requested once more.
 *
 * @returns the states that were not reached in time
 * @throws ServiceError NAVIGATION_FAILED, URL_BLOCKED, CAPTURE_TIMEOUT
 */
export async function navigate(open: OpenPage, source: RenderSource, options: RenderOptions): Promise<SoftTimeout[]> {
  const end = performance.now() + options.timeout;
  const remaining = () => Math.max(1, end - performance.now());
  const missed = await visit(open, source, options, remaining);
  if (!(await isLost(open, remaining()))) return missed;
  const missedAgain = await visit(open, source, options, remaining);
  if (!(await isLost(open, remaining()))) return missedAgain;
  throw new ServiceError('NAVIGATION_FAILED', 'The connection was closed before the page began to load.');
}

async function visit(
  open: OpenPage,
  source: RenderSource,
  options: RenderOptions,
  remaining: () => number,
): Promise<SoftTimeout[]> {
  const { document } = open;
  // If the transfer of a document is cut off, the part that has loaded is shown, as in a browser, and reported as incomplete.
  const missed = (reached: Reached) => reached === 'late' || (reached === 'cut off' && !document.moving);
  await commit(open, source, options, remaining());
  if (options.waitUntil === 'commit') return [];

  for (let moves = 0; ; moves += 1) {
    const parsed = await reach(open, 'domcontentloaded', remaining());
    // Such a page is mostly blank, for example because a script in its head hangs.
    if (parsed === 'late') throw unanswered(options.timeout, 'The page was not complete');
    if (missed(parsed)) return [options.waitUntil];
    const more = parsed === 'reached' && options.waitUntil !== 'domcontentloaded';
    if (more && missed(await reach(open, options.waitUntil, remaining()))) return [options.waitUntil];
    // Many pages only redirect to the next page by script.
    if (!document.moving || moves === maxMoves) return [];
    if (!(await arrives(open, remaining()))) return [options.waitUntil];
    throwIfLost(open);
  }
}

/**
 * Refuses file:, view-source:, chrome:, about: and other non-web addresses before the browser gets them.
 *
 * @throws ServiceError NAVIGATION_FAILED
 */
export function assertWeb(source: RenderSource): void {
  if (source.kind === 'html' || /^https?:\/\//i.test(source.url)) return;
  throw new ServiceError('NAVIGATION_FAILED', 'Only http and https addresses can be captured.');
}

/**
 * Throws if the last navigation of the page ended on an error page of the browser.
 *
 * @throws ServiceError
 */
export function throwIfLost({ page, proxySession, document }: OpenPage): void {
  const failed = page.url().startsWith('chrome-error:');
  const { failure, requestedUrl } = document;
  if (failed) throw navigationFailure(failure?.url ?? requestedUrl ?? '', failure?.netError ?? '', proxySession);
  if (requestedUrl !== undefined && !document.moving && proxySession.wasBlocked(requestedUrl))
    throw urlBlocked(requestedUrl);
}

async function commit(
  open: OpenPage,
  source: RenderSource,
  { timeout }: RenderOptions,
  timeoutMs: number,
): Promise<void> {
  const { page, proxySession, document, deadline } = open;
  const url = source.kind === 'url' ? source.url : htmlUrl;
  const stopServing =
    source.kind === 'html' ? await deadline.run(serveHtml(open, source.html), timeoutMs, 'the html') : null;
  try {
    // The second limit applies if the browser's own timer does not work.
    await deadline.run(page.goto(url, { waitUntil: 'commit', timeout: timeoutMs }), timeoutMs + 1000, 'the navigation');
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const asked = document.requestedUrl ?? url;
    if (error instanceof errors.TimeoutError || error instanceof DeadlineError) {
      if (proxySession.failureOf(asked) === 'blocked') throw urlBlocked(asked, { cause: error });
      throw unanswered(timeout, 'The page did not answer', error);
    }
    throw (
      emptyAnswer(open, error) ??
      navigationFailure(asked, document.failure?.netError ?? String(error), proxySession, error)
    );
  }
  void stopServing?.();
  throwIfLost(open);
}

type Reached = 'reached' | 'late' | 'cut off';

/** Waits for a load state and returns whether the page reached it in time. */
async function reach(
  open: OpenPage,
  state: 'domcontentloaded' | 'load' | 'networkidle',
  timeoutMs: number,
): Promise<Reached> {
  const { page, deadline, document, network, world } = open;
  const waited = page.waitForLoadState(state, { timeout: timeoutMs });
  const seen = (async () => {
    if (state === 'networkidle') {
      await page.waitForLoadState('load', { timeout: timeoutMs });
      return network.untilQuiet();
    }
    await document.stayed;
    return world.call(untilReady, [state], { timeoutMs, what: `waiting for ${state}` });
  })();
  const told = waited.then(() => (state === 'networkidle' && network.hasStalled ? seen : undefined));
  // The world can end with its document. The other promise decides then.
  const reached = Promise.race([told, seen.catch(() => told)]).then(() => 'reached' as const);
  const cutOff = document.cutOff.then(() => 'cut off' as const);
  try {
    return await deadline.run(Promise.race([reached, cutOff]), timeoutMs + 1000, `waiting for ${state}`);
  } catch (error) {
    if (error instanceof errors.TimeoutError || error instanceof DeadlineError) return 'late';
    throw error;
  }
}

/**
 * Returns whether the document has no element, and is therefore never drawn. If a transfer is cut off, Chromium discards what it has not
 * parsed. On a busy machine that can be everything.
 */
async function isLost({ document, world }: OpenPage, timeoutMs: number): Promise<boolean> {
  if (!document.isCutOff || document.moving) return false;
  return world.call(isWithoutElement, [], { timeoutMs, what: 'looking for the document' });
}

/** Returns whether the next page arrived in time. */
async function arrives({ document, deadline }: OpenPage, timeoutMs: number): Promise<boolean> {
  try {
    await deadline.run(document.settled(), timeoutMs, 'waiting for the next page');
    return true;
  } catch (error) {
    if (error instanceof DeadlineError) return false;
    throw error;
  }
}

/** Returns the error for a response that is not a page: empty, or a download. */
function emptyAnswer({ document }: OpenPage, cause: unknown): ServiceError | undefined {
  const { answer } = document;
  if (/net::ERR_(?!ABORTED)/.test(String(cause))) return undefined;
  if (answer === undefined || answer.url !== document.requestedUrl) return undefined;
  if (answer.status === 204 || answer.status === 205) {
    const message = `The server answered with status ${answer.status} and without a page.`;
    return new ServiceError('NAVIGATION_FAILED', message, { cause });
  }
  // The header may contain any text.
  const given = /^[\w.+-]+\/[\w.+-]+(?=\s*(?:;|$))/.exec(answer.headers['content-type'] ?? '');
  const type = given?.[0] ?? 'unknown type';
  return new ServiceError('NAVIGATION_FAILED', `The address is a file to download (${type}), not a page.`, { cause });
}

function unanswered(timeout: number, what: string, cause?: unknown): ServiceError {
  const message = `${what} within ${timeout} ms. Set a larger timeout to wait longer.`;
  return new ServiceError('CAPTURE_TIMEOUT', message, { causedBy: 'page', cause });
}

/**
 * Answers the navigation to {@link htmlUrl} with the HTML inside the browser. All other requests of the page reach the network. Call the
 * returned function when the page has arrived. After that, a request for the address fails, like a request for any other address of its
 * origin.
 */
async function serveHtml({ page, cdp, hasOwnSession }: OpenPage, html: string): Promise<() => Promise<void>> {
  const pattern = { urlPattern: htmlUrl, resourceType: 'Document' as const };
  const answer = { headers: [{ name: 'content-type', value: 'text/html; charset=utf-8' }], body: html };
  if (hasOwnSession) return answerRequests(cdp, pattern, answer);
  const session = await attachSession(page);
  await answerRequests(session, pattern, answer);
  return () => session.detach().catch(() => undefined);
}
