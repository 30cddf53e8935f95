/// <reference lib="dom" />
import type { scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { cssMayUse as CssMayUse } from './styles.ts';

/** A function that the caller sends to the page together with {@link untilTimersRan}. */
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;
/** A function that the caller sends to the page together with {@link untilLaidOut}. */
declare const cssMayUse: typeof CssMayUse;

/** Resolves after `ms` milliseconds. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves with the next animation frame, or after `timeoutMs` if the page is not drawn. */
function untilFrame(timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => resolve());
    setTimeout(resolve, timeoutMs);
  });
}

/**
 * Resolves when the page's intersection observers have been called for the current view. Our own observer was created after theirs, so it
 * is called after them. A frame is not sufficient: on a busy machine, the next frame may start before the observers were called for the
 * last one. Resolves after `timeoutMs` if the page is not drawn.
 */
export function waitForIntersectionObservers(timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      observer.disconnect();
      clearTimeout(timer);
      resolve();
    };
    const observer = new IntersectionObserver(done);
    const timer = setTimeout(done, timeoutMs);
    observer.observe(document.documentElement);
  });
}

/** Returns whether a frame is visible and may change. Runs in the document of the frame. */
export async function isLiveFrame(): Promise<boolean> {
  /** Time limit of the observer, which runs when the browser draws the page. A busy machine takes several hundred milliseconds. */
  const observeTimeoutMs = 1000;
  if (innerWidth <= 1 || innerHeight <= 1) return false;
  if (document.scripts.length === 0 && document.getAnimations().length === 0) return false;
  return new Promise((resolve) => {
    const done = (isSeen: boolean) => {
      observer.disconnect();
      clearTimeout(timer);
      resolve(isSeen);
    };
    const observer = new IntersectionObserver((entries) => done(entries.some(({ isIntersecting }) => isIntersecting)));
    const timer = setTimeout(() => done(false), observeTimeoutMs);
    observer.observe(document.documentElement);
  });
}

/** The `waits` of the scripts of this folder, which cannot import anything when they run in the page. */
export const waits = { sleep, untilFrame, waitForIntersectionObservers } as const;
export type PageWaits = typeof waits;

/**
 * Resolves when the page has been drawn twice. The first drawing shows its current state, and calls intersection observers. The second
 * shows the page's reaction to them. For a page that is not drawn, the wait is short.
 */
export async function untilFrames(times: 1 | 2): Promise<void> {
  for (let drawn = 0; drawn < times; drawn += 1) await waits.untilFrame(150);
}

/**
 * Resolves when visible boxes with `content-visibility: auto` have the height of their contents. The browser determines the height when it
 * draws the page, which may be after load. Returns immediately for a page without such boxes.
 */
export async function untilLaidOut(timeoutMs: number): Promise<void> {
  if (cssMayUse(['content-visibility'])) await waits.waitForIntersectionObservers(timeoutMs);
}

/**
 * Resolves when the timers have run that the page's scripts set in the first `graceMs` after the load event, because many scripts defer
 * content to a timer. Timers run in the order of their due times, so this function's timer comes after those, even on a busy machine. (A
 * timer without a delay would overtake them.) Returns immediately if the scripts are known to have set no timer.
 *
 * @returns whether the page has scripts that may have started something
 */
export async function untilTimersRan(graceMs: number): Promise<boolean> {
  const scripted = '[onload], [onerror], canvas, meta[http-equiv="refresh" i]';
  const isScripted = document.scripts.length > 0 || document.querySelector(scripted) !== null;
  if (!isScripted) return false;
  if (scriptsHaveEnded()) return true;
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const now = performance.now();
  const loadedAt = navigation?.loadEventEnd || now;
  await waits.sleep(Math.max(1, loadedAt + graceMs - now));
  return true;
}

/** Whether the document has no element, because none was parsed. */
export function isWithoutElement(): boolean {
  return (document as { readonly documentElement: Element | null }).documentElement === null;
}

/** Resolves when the document has been parsed, or has loaded with all its resources. */
export async function untilReady(state: 'domcontentloaded' | 'load'): Promise<void> {
  const reached = () =>
    document.readyState === 'complete' || (state !== 'load' && document.readyState === 'interactive');
  while (!reached()) {
    await new Promise((resolve) => document.addEventListener('readystatechange', resolve));
  }
}
