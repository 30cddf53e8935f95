import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { callTimeoutMs } from './deadline.ts';
import { isContent, LoadingRequests } from './network.ts';
import type { OpenPage } from './open.ts';
import { effectsHelpers, holdScrollEffects } from './scripts/effects.ts';
import { movesEndlessly } from './scripts/motion.ts';
import { holderOf, visibleShare } from './scripts/scenes.ts';
import { scrollThrough, scrollToTop } from './scripts/scrolling.ts';
import { waitForIntersectionObservers } from './scripts/waits.ts';
import { holdInWindows } from './scripts/windows.ts';

const helpers = [holderOf, visibleShare];
/**
 * Time limit for elements that scripts move with the scroll position. Each is shown in the middle of the viewport: 40 positions of a few
 * frames each. Scripts that move elements smoothly take a quarter of a second for each position.
 */
const effectsBudgetMs = 5000;
/** Maximum time for scrolling, no matter how much the page grows. One last measurement may follow. */
const scrollBudgetMs = 10_000;
/** Number of times that a page may grow when its end is reached. A page that grows more often is treated as endless. */
const maxScrollRounds = 10;
/** Growth in CSS pixels after which a page is treated as endless. */
const maxGrowth = 20_000;
/** Time limit of the wait for requests that the page sends when it is scrolled. */
const loadingTimeoutMs = 1500;
/** Maximum number of measurements for a page that keeps requesting content. */
const maxMeasurements = 2;
/** Time limit of the wait for observers at the end of the page, because the page is not scrolled to its end again. */
const endTimeoutMs = 2000;

/**
 * Scrolls through the page and back, which makes content load or appear that does so on scroll. Follows a page that grows at its end for a
 * limited time.
 *
 * @param maxSteps from the top to the end
 * @returns whether the page was still growing when scrolling stopped, and whether the end was reached
 */
export async function scrollPage(
  { world, page, deadline }: OpenPage,
  maxSteps: number,
): Promise<{ readonly stillGrew: boolean; readonly reachedEnd: boolean }> {
  const measure = () => world.call(scrollThrough, [0, 0, 1], { timeoutMs: callTimeoutMs, what: 'measuring' }, helpers);
  const first = await measure();
  if (first.reachedEnd || !first.scripted) return { stillGrew: false, reachedEnd: true };
  const end = performance.now() + scrollBudgetMs;
  const loading = new LoadingRequests(page, isContent);
  const observed = () =>
    world.call(waitForIntersectionObservers, [endTimeoutMs], {
      timeoutMs: callTimeoutMs,
      what: 'what watches the end',
    });
  const hasGrown = async (height: number): Promise<boolean> => {
    for (let count = 1; ; count += 1) {
      const { begun } = loading;
      if (begun > 0) {
        await deadline.run(loading.none(), loadingTimeoutMs, 'what scrolling asked for').catch(ignoreDeadline);
        await observed();
      }
      if ((await measure()).height > height) return true;
      // A request may be reported late, because requests are reported on another channel than the page's answers.
      if (loading.begun === begun || count === maxMeasurements || performance.now() >= end) return false;
    }
  };
  try {
    let [stillGrew, isAtEnd] = [false, true];
    for (let round = 0; round < maxScrollRounds; round += 1) {
      const left = Math.max(0, end - performance.now());
      const { reachedEnd, height } = await world.call(
        scrollThrough,
        [left, first.height + maxGrowth, maxSteps],
        {
          timeoutMs: left + callTimeoutMs,
          what: 'scrolling',
        },
        helpers,
      );
      stillGrew = height > first.height;
      isAtEnd = reachedEnd;
      if (!reachedEnd) break;
      await observed();
      stillGrew = await hasGrown(height);
      if (!stillGrew) break;
    }
    await world.call(scrollToTop, [], { timeoutMs: callTimeoutMs, what: 'scrolling back' });
    return { stillGrew, reachedEnd: isAtEnd };
  } finally {
    loading.stop();
  }
}

/**
 * Freezes elements that scripts move with the scroll position, in the state that a visitor sees. Call it after scrolling. See {@link
 * holdScrollEffects}.
 */
export async function freezeScrollEffects({ world }: OpenPage): Promise<void> {
  const limit = { timeoutMs: effectsBudgetMs + callTimeoutMs, what: 'effects of scrolling' };
  await world.call(holdScrollEffects, [effectsBudgetMs], limit, [
    ...helpers,
    holdInWindows,
    movesEndlessly,
    ...effectsHelpers,
  ]);
}

function ignoreDeadline(error: unknown): void {
  if (!(error instanceof DeadlineError)) throw error;
}
