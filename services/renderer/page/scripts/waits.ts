/// <reference lib="dom" />
import type { scriptsHaveEnded as ScriptsHaveEnded } from './activity.ts';
import type { mayStyle as MayStyle } from './styles.ts';

/** A helper of the call of {@link untilTimersRan}. */
declare const scriptsHaveEnded: typeof ScriptsHaveEnded;
/** A helper of the call of {@link untilLaidOut}. */
declare const mayStyle: typeof MayStyle;

/** Resolves after so many milliseconds. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves with the next animation frame; a page that is not drawn is waited for no longer than `timeoutMs`. */
function untilFrame(timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => resolve());
    setTimeout(resolve, timeoutMs);
  });
}

/**
 * Resolves when the page's observers have heard of what is in sight now: one of our own, made after theirs, hears of it
 * with them. A frame does not tell that: on a busy machine the next one may be begun before they have heard of the last.
 * A page that is not drawn is waited for no longer than `timeoutMs`.
 */
export function untilObserved(timeoutMs: number): Promise<void> {
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

/** Returns whether a frame can be seen, and anything may change it. Runs in the document of the frame. */
export async function isLiveFrame(): Promise<boolean> {
  /** For a frame out of sight, which the browser may not draw. */
  const observeTimeoutMs = 100;
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

/** What every script of this folder finds under the name `waits` when it runs in the page; it cannot import anything there. */
export const waits = { sleep, untilFrame, untilObserved } as const;
export type PageWaits = typeof waits;

/**
 * Resolves when the page has been drawn so often: once for what it is now, twice for what it makes of that (observers
 * of what is in sight hear of it when it is drawn). A page that is not drawn is not waited for long.
 */
export async function untilFrames(times: 1 | 2): Promise<void> {
  for (let drawn = 0; drawn < times; drawn += 1) await waits.untilFrame(150);
}

/**
 * Resolves when boxes that are laid out only in sight (`content-visibility: auto`) have the height of their contents where they are
 * in sight: the browser decides that when it draws the page, which may be after it has loaded. A page without such boxes is not
 * waited for.
 */
export async function untilLaidOut(timeoutMs: number): Promise<void> {
  if (mayStyle(['content-visibility'])) await waits.untilObserved(timeoutMs);
}

/**
 * Resolves when the timers have run that the page's scripts have set for the first `graceMs` after its load event: many
 * scripts put off to one what they show. Timers run in the order in which they are due, so that the one of this function
 * comes after those, however late a busy machine is with all of them. (One without a delay would overtake them.) Where scripts are known
 * to have set none, it is not waited.
 *
 * @returns whether there is anything that scripts may have begun; else it is not waited
 */
export async function untilTimersRan(graceMs: number): Promise<boolean> {
  const moving = '[onload], [onerror], canvas, meta[http-equiv="refresh" i]';
  const isScripted = document.scripts.length > 0 || document.querySelector(moving) !== null;
  if (!isScripted) return false;
  if (scriptsHaveEnded()) return true;
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const now = performance.now();
  const loadedAt = navigation?.loadEventEnd || now;
  await waits.sleep(Math.max(1, loadedAt + graceMs - now));
  return true;
}

/** Resolves when the document has been parsed, or has loaded with all that belongs to it. */
export async function untilReady(state: 'domcontentloaded' | 'load'): Promise<void> {
  const reached = () =>
    document.readyState === 'complete' || (state !== 'load' && document.readyState === 'interactive');
  while (!reached()) {
    await new Promise((resolve) => document.addEventListener('readystatechange', resolve, { once: true }));
  }
}
