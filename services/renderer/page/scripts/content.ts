/// <reference lib="dom" />
import type { PageState } from './state.ts';
import type { PageWaits } from './waits.ts';
import type { own as Own } from './own.ts';

declare const waits: PageWaits;
declare const pageState: PageState;
declare const own: typeof Own;

/**
 * Notes how long after its load event a page that was empty then has been given its first content, for
 * {@link waitForContent}: on a busy machine that may be looked at later. Runs before the page's own scripts.
 */
export function watchFirstContent(): void {
  /** A page with more elements is not empty. */
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
 * Waits for a page of scripts that shows nothing yet until it does, and then for what it adds one after the other. A page
 * that shows something is not waited for, nor one that has no scripts.
 *
 * @param quietMs for the first content, or for the page to change at all
 * @param maxMs for the first content of a page that changes
 * @param moreMs for what follows it, as long as something comes every `stepMs`
 */
export async function waitForContent(quietMs: number, maxMs: number, moreMs: number): Promise<void> {
  /** About two frames. */
  const pollIntervalMs = 30;
  /** The first content of a page is there after this time. */
  const firstLookMs = 150;
  /** Further apart than this are no steps of one row. */
  const stepMs = 450;
  /** Looking at more elements takes long, and a page with this number of elements is not empty. */
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
      ['::before', '::after'].some((pseudo) => !['none', 'normal'].includes(getComputedStyle(element, pseudo).content));
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
  // What was fetched has been waited for.
  const hasFetched = () =>
    performance
      .getEntriesByType('resource')
      .some((entry) => ['fetch', 'xmlhttprequest'].includes((entry as PerformanceResourceTiming).initiatorType));
  const { webcaptureFirstContentMs = 0 } = pageState;
  const wasEmpty = () => webcaptureFirstContentMs > firstLookMs && !hasFetched();
  if (document.scripts.length === 0 || !(isEmpty() || wasEmpty())) return;

  // Polls are counted and not time: on a busy machine they are as late as the timers of the page.
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
 * Gives the scripts of a page that shows a single colour the time to show something.
 *
 * @returns whether there are any; else it is not waited
 */
export async function waitForScripts(ms: number): Promise<boolean> {
  if (document.scripts.length === 0) return false;
  await waits.sleep(ms);
  return true;
}
