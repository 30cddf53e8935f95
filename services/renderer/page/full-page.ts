import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureStrategy } from '@webcapture/shared/api/capture.ts';
import type { OpenPage } from './open.ts';
import { finishAnimations, holdScrollAnimations, watchMotion } from './scripts/animations.ts';
import { loadEagerly } from './scripts/assets.ts';
import { watchScrollEffects } from './scripts/effects.ts';
import { fixedHelpers, noteFixed, placeFixed } from './scripts/fixed.ts';
import { measurePage, type PageMeasures } from './scripts/measures.ts';
import { hideResizes, rememberPanes, restorePanes } from './scripts/neutrality.ts';
import { countUnseen, keepRevealed, rememberRevealed, revealedHelpers, watchLeaving } from './scripts/revealed.ts';
import { shareOfScenes } from './scripts/scenes.ts';
import { findScroller, growScroller, hasLargeForeignFrame, scrollerHelpers } from './scripts/scrollers.ts';
import { announceScroll, isLocked, scrollAsWheel } from './scripts/scrolling.ts';
import { mayStyle } from './scripts/styles.ts';
import { everyElement, layOutAll } from './scripts/tree.ts';
import { pinViewport } from './scripts/viewport-units.ts';
import { untilFrames, untilObserved } from './scripts/waits.ts';
import { holdEffects, scrollPage } from './scroll-page.ts';
import { assertHolds, maxCssHeight } from './size-limits.ts';
import { maxTiles, tileHeight } from './tiles.ts';
import { step } from './world.ts';

/** What a page does on being scrolled, it does at the stations of a few steps; the rest is in sight when the viewport is tall. */
const scrollSteps = 12;
const callTimeoutMs = 5000;
/** For a page that is not drawn. */
const observeTimeoutMs = 150;
/** For a page that cannot be scrolled because its loader still covers it. */
const unlockTimeoutMs = 600;
/** Of the viewport: a page whose scenes cover more than this is shown by them, and taken in tiles. */
const maxSceneShare = 0.25;
/** For pages that have not shown everything in the tall viewport: 4,000 px take 1.3 s. */
const wheelBudgetMs = 3000;
/** Scripts that copy the height of the viewport may take as many frames to give it back. */
const maxSettleTurns = 5;

/** The whole page, laid out and in sight. */
export interface FullPage {
  /** CSS pixels. */
  readonly height: number;
  /** How far the content hangs out to the left of it, in CSS pixels. */
  readonly left: number;
  /** It still grew when we stopped, or is taller than the picture may be. */
  readonly truncated: boolean;
  /** It grew so much that its end was not scrolled to: if it grows once more, that is not its end. */
  readonly mayGrow?: boolean;
  /** `single`: the viewport shows all of it; `grown`: the page continues below the viewport; `tiles`: the page is taken place by place. */
  readonly strategy: CaptureStrategy;
  /** It cannot be scrolled, and shows the viewport only, whatever lies below. */
  readonly isLocked: boolean;
}

/**
 * Wakes a page up: everything loads, appears and draws itself that does so when it comes into sight. The page is scrolled through, and
 * then laid out in a tall viewport until {@link fitFullPage} takes it back. It gets no `resize` event.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function showFullPage(open: OpenPage, options: RenderOptions): Promise<FullPage> {
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
      [mayStyle, everyElement, ...scrollerHelpers],
    ),
    // Where banners are blocked, the lock that came with one is none.
    options.block.cookieBanners ? false : call(isLocked, [unlockTimeoutMs]),
  ]);
  if (locked && hidden === null) {
    return { height: first.viewHeight, left: 0, truncated: false, strategy: 'single', isLocked: true };
  }
  // A page that is too tall before it is scrolled need not be scrolled.
  assertHolds(format, Math.round(viewport.width * scale), Math.round((first.height + (hidden ?? 0)) * scale));
  const { stillGrew, reachedEnd } = await scrollPage(open, scrollSteps);
  await holdEffects(open);
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

/** Lays the page out in a tall viewport, without a `resize` event, so that everything comes into sight. */
async function wakeUp({ world, emulation }: OpenPage, height: number): Promise<void> {
  // What holds the page is as tall as its content in any viewport.
  await world.callEach([step(hideResizes), step(growScroller)], limitOf(growScroller), [...scrollerHelpers]);
  await emulation.grow(height);
  const steps = [
    step(untilFrames, 2),
    step(untilObserved, observeTimeoutMs),
    step(announceScroll),
    step(untilFrames, 2),
    step(finishAnimations),
  ] as const;
  await world.callEach(steps, limitOf(untilFrames));
}

/**
 * Takes a page that is awake back to the viewport that was asked for, where it looks as it did in the tall one, and finds its height.
 * What is fixed to the viewport is where it belongs in the picture of the whole page.
 */
export async function fitFullPage(open: OpenPage, whole: FullPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  if (whole.isLocked) return whole;
  const { world, emulation } = open;
  const maxHeight = maxCssHeight(format, viewport.deviceScaleFactor);
  const now = await measureAtRest(open);
  const isSingle = whole.strategy === 'single';
  if (isSingle && now.height <= viewport.height) return { ...whole, left: now.left };
  // Content that has come in since made it taller than the viewport.
  if (isSingle) await wakeUp(open, Math.min(now.height, maxHeight));
  const [, , unseen] = await world.callEach(
    [step(rememberRevealed), step(noteFixed), step(countUnseen), step(watchLeaving)],
    limitOf(rememberRevealed),
    [...fixedHelpers, finishAnimations, mayStyle, everyElement],
  );
  await emulation.grow(viewport.height);
  let { height: natural, stillGrows } = await settleInView(open, whole.height);
  if (unseen > 0) {
    await world.call(scrollAsWheel, [wheelBudgetMs], {
      timeoutMs: wheelBudgetMs + callTimeoutMs,
      what: 'scrolling as a wheel',
    });
    ({ height: natural, stillGrows } = await settleInView(open, natural));
  }
  const height = Math.min(natural, maxHeight);
  const strategy = whole.strategy === 'tiles' ? 'tiles' : height > viewport.height ? 'grown' : 'single';
  if (strategy === 'grown') {
    await world.callEach(
      [step(placeFixed, height), ...(format === 'pdf' ? [step(pinViewport)] : [])],
      limitOf(placeFixed),
      [...fixedHelpers, mayStyle, everyElement],
    );
  }
  const { left } = await measureAtRest(open);
  const grew = stillGrows || (whole.mayGrow === true && height > whole.height);
  return { ...whole, height, left, truncated: whole.truncated || grew || natural > height, strategy };
}

/**
 * Measures the page in the viewport that was asked for, when scripts that copy its height have done so again.
 *
 * @param expectedHeight in CSS pixels: a page of that height is at rest
 * @returns the last measures, and whether the page was still getting taller
 */
async function settleInView(
  { world }: OpenPage,
  expectedHeight: number,
): Promise<PageMeasures & { readonly stillGrows: boolean }> {
  const steps = [
    step(untilFrames, 2),
    step(untilObserved, observeTimeoutMs),
    step(keepRevealed),
    step(finishAnimations),
    step(growScroller),
    step(restorePanes),
    step(measurePage),
  ] as const;
  let last = expectedHeight;
  for (let turn = 1; ; turn += 1) {
    const helpers = [mayStyle, ...scrollerHelpers, ...revealedHelpers];
    const [, , , , , , measures] = await world.callEach(steps, limitOf(measurePage), helpers);
    if (turn === maxSettleTurns || measures.height === last) {
      return { ...measures, stillGrows: measures.height > last };
    }
    last = measures.height;
  }
}

/**
 * On its way in or out, a part is of no size that counts. In one call, as an observer of the page may set a class in between whose
 * transition has only begun.
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
