/// <reference lib="dom" />
import type { scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;
/** A function that the caller sends to the page together with {@link waitForScripts}. */
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;

/**
 * Records the time from the load event of an empty page to its first content, for {@link waitForContent}. On a busy machine, that function
 * may check the page later than the first content appears. Runs before the page's scripts.
 */
export function watchFirstContent(): void {
  /** Number of elements above which a page is not empty. */
  const maxElements = 50;
  const note = () => {
    const { body } = document;
    if (body === null || document.scripts.length === 0 || own(body).querySelectorAll('*').length > maxElements) return;
    if (own(body).innerText.trim() !== '' || own(body).querySelector('img, svg, canvas, video, iframe, input') !== null)
      return;
    const loadedAt = performance.now();
    const observer = new MutationObserver(() => {
      observer.disconnect();
      pageState.webcaptureFirstContentMs = performance.now() - loadedAt;
    });
    observer.observe(body, { subtree: true, childList: true });
  };
  addEventListener('load', note, { once: true });
}

/**
 * Waits until a scripted page that is still empty shows content, and then for the content that follows step by step. Returns immediately if
 * the page shows something or has no scripts.
 *
 * @param quietMs time limit for the first content or any other change
 * @param maxMs time limit for the first content of a page that changes
 * @param moreMs time limit for the content that follows, while something arrives at least every `stepMs`
 */
export async function waitForContent(quietMs: number, maxMs: number, moreMs: number): Promise<void> {
  /** Poll interval: about two frames. */
  const pollIntervalMs = 30;
  /** Content that appears within this time after load counts as present at load. */
  const firstLookMs = 150;
  /** Maximum time between two changes of the same sequence. */
  const stepMs = 450;
  /** A page with this number of elements is not empty. Checking more elements would take long. */
  const maxElements = 500;
  const shownTags =
    'img, svg, canvas, video, iframe, object, embed, input, button, select, textarea, hr, progress, meter';
  const isShown = (element: Element) =>
    own(element).checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const hasOwnText = (element: Element) =>
    [...own(element).childNodes].some(
      (node) => own(node).nodeType === Node.TEXT_NODE && (own(node).textContent ?? '').trim() !== '',
    );
  const shows = (element: Element): boolean => {
    const style = getComputedStyle(element);
    const isPainted =
      style.backgroundImage !== 'none' ||
      style.backgroundColor !== 'rgba(0, 0, 0, 0)' ||
      Number.parseFloat(style.borderTopWidth) > 0 ||
      style.boxShadow !== 'none' ||
      ['::before', '::after'].some((pseudo) => getComputedStyle(element, pseudo).content !== 'none');
    if (!hasOwnText(element) && !isPainted && !own(element).matches(shownTags) && own(element).shadowRoot === null)
      return false;
    const { width, height, bottom, right } = own(element).getBoundingClientRect();
    return width > 0 && height > 0 && bottom > 0 && right > 0 && isShown(element);
  };
  const isEmpty = () => {
    const { body } = document;
    if (body === null || own(body).localName !== 'body') return false;
    const all = own(body).querySelectorAll(':not(script, style, noscript, template, link, meta)');
    return !hasOwnText(body) && all.length <= maxElements && ![...all].some(shows);
  };
  // An earlier step has waited for fetched content.
  const hasFetched = () =>
    performance
      .getEntriesByType('resource')
      .some((entry) => ['fetch', 'xmlhttprequest'].includes((entry as PerformanceResourceTiming).initiatorType));
  const { webcaptureFirstContentMs = 0 } = pageState;
  const wasEmpty = () => webcaptureFirstContentMs > firstLookMs && !hasFetched();
  if (document.scripts.length === 0 || !(isEmpty() || wasEmpty())) return;

  // Polls are counted instead of time, because on a busy machine polls are as late as the page's timers.
  let quietPolls = 0;
  const observer = new MutationObserver(() => {
    quietPolls = 0;
  });
  const poll = async () => {
    await waits.sleep(pollIntervalMs);
    quietPolls += 1;
  };
  observer.observe(document, { subtree: true, childList: true, characterData: true });
  const isQuiet = (ms: number) => quietPolls * pollIntervalMs >= ms;
  let end = performance.now() + maxMs;
  while (isEmpty() && performance.now() < end && !isQuiet(quietMs)) await poll();
  if (!isEmpty()) {
    end = performance.now() + moreMs;
    while (performance.now() < end && !isQuiet(stepMs)) await poll();
  }
  observer.disconnect();
}

/**
 * Waits if the page has scripts that have not ended, because they may still draw on a page of a single color.
 *
 * @returns whether the page has such scripts
 */
export async function waitForScripts(ms: number): Promise<boolean> {
  if (document.scripts.length === 0 || scriptsHaveEnded()) return false;
  await waits.sleep(ms);
  return true;
}
