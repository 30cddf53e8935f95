import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import { scrollThrough } from './in-page/scroll-through.ts';
import { scrollToTop } from './in-page/scroll-to-top.ts';
import { untilObserved } from './in-page/until-observed.ts';
import { isContent, LoadingRequests } from './loading-requests.ts';
import type { OpenPage } from './open.ts';

/** Scrolling takes no longer than this, however much the page grows; a last look at its end may come on top. */
const budgetMs = 10_000;
/** A page that has grown so often on reaching its end, or by so many CSS pixels, will go on growing. */
const mostRounds = 10;
const mostGrowth = 20_000;
/** For what the page asked the server for on being scrolled. */
const loadingMs = 1500;
/** A page that asks all the time is looked at so often. */
const mostLooks = 2;
/** For what watches the end: what is missed here is missed for good. */
const endMs = 2000;
const callMs = 5000;

/**
 * Scrolls through the page and back, so that what loads or appears on scrolling is there. A page that grows when its end
 * is reached is followed for a while.
 *
 * @param mostSteps from the beginning to the end
 * @returns whether the page still grew when scrolling stopped
 */
export async function scrollPage(
  { world, page, lifeline }: OpenPage,
  mostSteps: number,
): Promise<{ readonly stillGrew: boolean }> {
  const look = () => world.call(scrollThrough, [0, 0, 1], { ms: callMs, what: 'measuring' });
  const first = await look();
  if (first.reachedEnd || !first.scripted) return { stillGrew: false };
  const end = performance.now() + budgetMs;
  const loading = new LoadingRequests(page, isContent);
  const observed = () => world.call(untilObserved, [endMs], { ms: callMs, what: 'what watches the end' });
  const hasGrown = async (height: number): Promise<boolean> => {
    for (let looks = 1; ; looks += 1) {
      const { begun } = loading;
      if (begun > 0) {
        await lifeline.run(loading.none(), loadingMs, 'what scrolling asked for').catch(ignoreDeadline);
        await observed();
      }
      if ((await look()).height > height) return true;
      // A request is told on another way than what the page answers, and may be heard of later than it was made.
      if (loading.begun === begun || looks === mostLooks || performance.now() >= end) return false;
    }
  };
  try {
    let stillGrew = false;
    for (let round = 0; round < mostRounds; round += 1) {
      const left = Math.max(0, end - performance.now());
      const { reachedEnd, height } = await world.call(scrollThrough, [left, first.height + mostGrowth, mostSteps], {
        ms: left + callMs,
        what: 'scrolling',
      });
      stillGrew = height > first.height;
      if (!reachedEnd) break;
      await observed();
      stillGrew = await hasGrown(height);
      if (!stillGrew) break;
    }
    await world.call(scrollToTop, [], { ms: callMs, what: 'scrolling back' });
    return { stillGrew };
  } finally {
    loading.stop();
  }
}

function ignoreDeadline(error: unknown): void {
  if (!(error instanceof DeadlineError)) throw error;
}
