import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import { nextFrame } from './in-page/next-frame.ts';
import { scrollThrough } from './in-page/scroll-through.ts';
import { scrollToTop } from './in-page/scroll-to-top.ts';
import { LoadingRequests } from './loading-requests.ts';
import type { OpenPage } from './open.ts';

/** Scrolling takes no longer than this, however much the page grows. */
const budgetMs = 10_000;
/** A page that has grown so often on reaching its end will go on growing. */
const mostRounds = 10;
/** For what the page asked the server for on being scrolled. */
const loadingMs = 1500;
const callMs = 5000;

/**
 * Scrolls through the page and back, so that what loads or appears on scrolling is there. A page that grows when its end
 * is reached is followed for a while.
 *
 * @param mostHeight in CSS pixels: a page that grows beyond is not followed
 * @returns whether the page still grew when scrolling stopped
 */
export async function scrollPage(open: OpenPage, mostHeight: number): Promise<{ readonly stillGrew: boolean }> {
  const { world, page, lifeline } = open;
  const end = performance.now() + budgetMs;
  const loading = new LoadingRequests(page);
  try {
    let stillGrew = false;
    for (let round = 0; round < mostRounds; round += 1) {
      const left = end - performance.now();
      const { reachedEnd, height, steps } = await world.call(scrollThrough, [left, mostHeight], {
        ms: left + callMs,
        what: 'scrolling',
      });
      if (round === 0 && steps === 0) return { stillGrew: false };
      if (!reachedEnd) {
        // Its height has not changed if it is only tall.
        stillGrew = round > 0;
        break;
      }
      await lifeline.run(loading.none(), loadingMs, 'what scrolling asked for').catch(ignoreDeadline);
      await world.call(nextFrame, [], { ms: callMs, what: 'a frame' });
      const again = await world.call(scrollThrough, [0, mostHeight], { ms: callMs, what: 'measuring' });
      stillGrew = again.height > height;
      if (!stillGrew) break;
    }
    await world.call(scrollToTop, [], { ms: callMs, what: 'scrolling back' });
    await world.call(nextFrame, [], { ms: callMs, what: 'a frame' });
    return { stillGrew };
  } finally {
    loading.stop();
  }
}

function ignoreDeadline(error: unknown): void {
  if (!(error instanceof DeadlineError)) throw error;
}
