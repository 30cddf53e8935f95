import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureStrategy } from '@webcapture/shared/api/capture.ts';
import { callTimeoutMs } from './deadline.ts';
import { isRequesting } from './network.ts';
import type { OpenPage } from './open.ts';
import { mayChangeWithin } from './scripts/activity.ts';
import { finishAnimations, holdScrollAnimations, watchMotion } from './scripts/animations.ts';
import { loadEagerly } from './scripts/assets.ts';
import { watchScrollEffects } from './scripts/effects.ts';
import { fixedHelpers, noteFixed, placeFixed } from './scripts/fixed.ts';
import { measurePage, type PageMeasures } from './scripts/measures.ts';
import { observeChanges } from './scripts/motion.ts';
import { hideResizes, rememberPanes, restorePanes } from './scripts/resizes-and-panes.ts';
import { countUnseen, keepRevealed, rememberRevealed, revealedHelpers, watchLeaving } from './scripts/revealed.ts';
import { shareOfScenes } from './scripts/scenes.ts';
import { findScroller, growScroller, hasLargeForeignFrame, scrollerHelpers } from './scripts/scrollers.ts';
import { announceScroll, isLocked, scrollAsWheel } from './scripts/scrolling.ts';
import { cssMayUse } from './scripts/styles.ts';
import { everyElement, layOutAll } from './scripts/tree.ts';
import { pinViewport } from './scripts/viewport-units.ts';
import { untilFrames, waitForIntersectionObservers } from './scripts/waits.ts';
import { freezeScrollEffects, scrollPage } from './scroll-page.ts';
import { assertHolds, maxCssHeight } from './size-limits.ts';
import { maxTiles, tileHeight } from './tiles.ts';
import { step } from './world.ts';

/** Number of stops at which scroll handlers of a page can run. A tall viewport then brings the rest into view. */
const scrollSteps = 12;
/** Time limit of the wait for observers, because the browser may not draw the page, and observers then do not run. */
const observeTimeoutMs = 150;
/** Time limit of the wait for a page that cannot be scrolled yet, because its loading screen still covers it. */
const unlockTimeoutMs = 600;
/** Share of the viewport that scroll scenes may cover. If they cover more, the page is captured in tiles. */
const maxSceneShare = 0.25;
/** Time limit of scrolling by wheel events, for a page that has not shown everything in the tall viewport. 4,000 px take 1.3 s. */
const wheelBudgetMs = 3000;
/** Number of frames in which scripts that copy the height of the viewport may restore it. */
const maxSettleTurns = 5;

/** The whole page, after it was laid out and brought into view. */
export interface FullPage {
  /** CSS pixels. */
  readonly height: number;
  /** How far the content extends past the left edge, in CSS pixels. */
  readonly left: number;
  /** Whether the page was still growing when scrolling stopped, or is taller than the maximum picture. */
  readonly truncated: boolean;
  /** Whether the page grew so fast that scrolling did not reach its end. If the page grows again, the result is truncated. */
  readonly mayGrow?: boolean;
  /**
   * `single`: the page fits the viewport. `grown`: the page continues below the viewport. `tiles`: the page is captured in one picture
   * per scroll position.
   */
  readonly strategy: CaptureStrategy;
  /** Whether the page blocks scrolling. Then only the viewport is captured. */
  readonly isLocked: boolean;
}

/**
 * Triggers everything that a page loads, reveals or draws when it comes into view. Scrolls through the page, then lays it out in a tall
 * viewport until {@link refitHeight} restores the height. The page gets no `resize` event.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function growToWholePage(open: OpenPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  const scale = viewport.deviceScaleFactor;
  const maxHeight = maxCssHeight(format, scale);
  const call = callIn(open);

  if (
    !open.frames.isEmpty &&
    (await open.world.call(hasLargeForeignFrame, [], limitOf(hasLargeForeignFrame), [everyElement, ...scrollerHelpers]))
  ) {
    await open.frames.noteHeights();
  }
  const [[, , , hidden, first], locked] = await Promise.all([
    open.world.callEach(
      [
        step(loadEagerly),
        step(watchMotion),
        step(layOutAll),
        step(findScroller),
        step(measurePage),
        step(watchScrollEffects),
      ],
      limitOf(measurePage),
      [cssMayUse, everyElement, observeChanges, ...scrollerHelpers],
    ),
    // If overlays are blocked, a scroll lock is ignored, because an overlay sets it.
    options.block.cookieBanners || options.block.newsletters === true
      ? false
      : open.world.call(isLocked, [unlockTimeoutMs, !isRequesting(open.network)], limitOf(isLocked), [mayChangeWithin]),
  ]);
  if (locked && hidden === null) {
    return { height: first.viewHeight, left: 0, truncated: false, strategy: 'single', isLocked: true };
  }
  // A page that is too tall before scrolling fails immediately.
  assertHolds(format, Math.round(viewport.width * scale), Math.round((first.height + (hidden ?? 0)) * scale));
  const { stillGrew, reachedEnd } = await scrollPage(open, scrollSteps);
  await freezeScrollEffects(open);
  const [before, sceneShare] = await Promise.all([
    measureAtRest(open),
    call(shareOfScenes, []),
    call(rememberPanes, []),
  ]);
  // Scrolling may have made the scroller's content taller.
  const content =
    before.height +
    (hidden === null
      ? 0
      : ((await open.world.call(findScroller, [], limitOf(findScroller), [everyElement, ...scrollerHelpers])) ?? 0));
  if (content > maxHeight && !stillGrew) {
    assertHolds(format, Math.round(viewport.width * scale), Math.round(content * scale));
  }
  const { left } = before;
  if (content <= before.viewHeight) {
    return { height: before.viewHeight, left, truncated: stillGrew, strategy: 'single', isLocked: false };
  }
  await call(holdScrollAnimations, []);
  await wakeUp(open, Math.min(content, maxHeight));
  const isFilm = sceneShare > maxSceneShare && format !== 'pdf' && hidden === null;
  return {
    height: content,
    left,
    truncated: (stillGrew && reachedEnd) || content > maxHeight,
    mayGrow: stillGrew,
    strategy: isFilm && content <= maxTiles * tileHeight(viewport) ? 'tiles' : 'grown',
    isLocked: false,
  };
}

/** Lays the page out in a tall viewport without a `resize` event, which brings everything into view. */
async function wakeUp({ world, emulation }: OpenPage, height: number): Promise<void> {
  // A scroll container becomes as tall as its content, whatever the viewport is.
  await world.callEach([step(hideResizes), step(growScroller)], limitOf(growScroller), [...scrollerHelpers]);
  await emulation.grow(height);
  const steps = [
    step(untilFrames, 2),
    step(waitForIntersectionObservers, observeTimeoutMs),
    step(announceScroll),
    step(untilFrames, 2),
    step(finishAnimations),
  ] as const;
  await world.callEach(steps, limitOf(untilFrames));
}

/**
 * Restores the requested viewport height after {@link growToWholePage}, keeps what the tall viewport revealed, and measures the page's
 * height. Moves fixed boxes to their places in the full-page picture.
 */
export async function refitHeight(open: OpenPage, fullPage: FullPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  if (fullPage.isLocked) return fullPage;
  const { world, emulation } = open;
  const maxHeight = maxCssHeight(format, viewport.deviceScaleFactor);
  const now = await measureAtRest(open);
  const isSingle = fullPage.strategy === 'single';
  if (isSingle && now.height <= viewport.height) return { ...fullPage, left: now.left };
  // If content that arrived since then made the page taller than the viewport, it is brought into view as well.
  if (isSingle) await wakeUp(open, Math.min(now.height, maxHeight));
  const [, , unseen] = await world.callEach(
    [step(rememberRevealed), step(noteFixed), step(countUnseen), step(watchLeaving)],
    limitOf(rememberRevealed),
    [...fixedHelpers, finishAnimations, cssMayUse, everyElement],
  );
  await emulation.grow(viewport.height);
  let { height: natural, stillGrows } = await settleInView(open, fullPage.height);
  if (unseen > 0) {
    await world.call(scrollAsWheel, [wheelBudgetMs], {
      timeoutMs: wheelBudgetMs + callTimeoutMs,
      what: 'scrolling as a wheel',
    });
    ({ height: natural, stillGrows } = await settleInView(open, natural));
  }
  const height = Math.min(natural, maxHeight);
  const strategy = fullPage.strategy === 'tiles' ? 'tiles' : height > viewport.height ? 'grown' : 'single';
  if (strategy === 'grown') {
    await world.callEach(
      [step(placeFixed, height), ...(format === 'pdf' ? [step(pinViewport)] : [])],
      limitOf(placeFixed),
      [...fixedHelpers, cssMayUse, everyElement],
    );
  }
  const { left } = await measureAtRest(open);
  const grew = stillGrows || (fullPage.mayGrow === true && height > fullPage.height);
  return { ...fullPage, height, left, truncated: fullPage.truncated || grew || natural > height, strategy };
}

/**
 * Measures the page in the requested viewport, after scripts that copy the viewport's height have updated it.
 *
 * @param expectedHeight in CSS pixels; a page of this height counts as settled
 * @returns the last measures, and whether the page was still growing
 */
async function settleInView(
  { world }: OpenPage,
  expectedHeight: number,
): Promise<PageMeasures & { readonly stillGrows: boolean }> {
  const steps = [
    step(untilFrames, 2),
    step(waitForIntersectionObservers, observeTimeoutMs),
    step(keepRevealed),
    step(finishAnimations),
    step(growScroller),
    step(restorePanes),
    step(measurePage),
  ] as const;
  let last = expectedHeight;
  for (let turn = 1; ; turn += 1) {
    const helpers = [cssMayUse, ...scrollerHelpers, ...revealedHelpers];
    const [, , , , , , measures] = await world.callEach(steps, limitOf(measurePage), helpers);
    if (turn === maxSettleTurns || measures.height === last) {
      return { ...measures, stillGrows: measures.height > last };
    }
    last = measures.height;
  }
}

/**
 * Measures the page with animations finished, because an element that is being animated has no final size. Both steps run in one call:
 * between two calls, an observer of the page could set a class that starts another transition.
 */
async function measureAtRest({ world }: OpenPage): Promise<PageMeasures> {
  const [, measures] = await world.callEach([step(finishAnimations), step(measurePage)], limitOf(measurePage));
  return measures;
}

function callIn({ world }: OpenPage) {
  return <A extends readonly unknown[], R>(fn: (...args: A) => R, args: A): Promise<Awaited<R>> =>
    world.call(fn, args, limitOf(fn));
}

function limitOf(fn: { readonly name: string }) {
  return { timeoutMs: callTimeoutMs, what: fn.name };
}
