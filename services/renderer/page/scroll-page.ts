import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { isContent, LoadingRequests } from './network.ts';
import type { OpenPage } from './open.ts';
import { effectsHelpers, holdScrollEffects } from './scripts/effects.ts';
import { holderOf, shareInSight } from './scripts/scenes.ts';
import { scrollThrough, scrollToTop } from './scripts/scrolling.ts';
import { untilObserved } from './scripts/waits.ts';
import { holdInWindows } from './scripts/windows.ts';

const helpers = [holderOf, shareInSight];
const callTimeoutMs = 5000;
/** For elements that scripts move with the scroll position to be seen in the middle of the viewport: 40 places of a few frames each. */
const effectsBudgetMs = 10_000;
/** Scrolling takes no longer than this, however much the page grows; a last measurement at its end may come on top. */
const scrollBudgetMs = 10_000;
/** A page that has grown this number of times on reaching its end grows without an end. */
const maxScrollRounds = 10;
/** A page that has grown by this number of CSS pixels grows without an end. */
const maxGrowth = 20_000;
/** For what the page asked the server for on being scrolled. */
const loadingTimeoutMs = 1500;
/** Maximum number of measurements for a page that asks for its size all the time. */
const maxMeasurements = 2;
/** For observers of the end of the page. The page is not scrolled to its end again. */
const endTimeoutMs = 2000;

/**
 * Scrolls through the page and back, so that what loads or appears on scrolling is there. A page that grows when its end
 * is reached is followed for a while.
 *
 * @param maxSteps from the beginning to the end
 * @returns whether the page still grew when scrolling stopped, and whether that was at its end
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
    world.call(untilObserved, [endTimeoutMs], { timeoutMs: callTimeoutMs, what: 'what watches the end' });
  const hasGrown = async (height: number): Promise<boolean> => {
    for (let count = 1; ; count += 1) {
      const { begun } = loading;
      if (begun > 0) {
        await deadline.run(loading.none(), loadingTimeoutMs, 'what scrolling asked for').catch(ignoreDeadline);
        await observed();
      }
      if ((await measure()).height > height) return true;
      // A request is told on another way than what the page answers, and may be heard of later than it was made.
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

/** Keeps what scripts move with the scroll position as a person sees it, after a page was scrolled through: see {@link holdScrollEffects}. */
export async function holdEffects({ world }: OpenPage): Promise<void> {
  const limit = { timeoutMs: effectsBudgetMs + callTimeoutMs, what: 'effects of scrolling' };
  await world.call(holdScrollEffects, [effectsBudgetMs], limit, [...helpers, holdInWindows, ...effectsHelpers]);
}

function ignoreDeadline(error: unknown): void {
  if (!(error instanceof DeadlineError)) throw error;
}
