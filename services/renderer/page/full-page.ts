import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureStrategy } from '@webcapture/shared/api/capture.ts';
import type { OpenPage } from './open.ts';
import { finishAnimations, holdScrollAnimations, watchMotion } from './scripts/animations.ts';
import { loadEagerly } from './scripts/assets.ts';
import { measurePage, type PageMeasures, untilHeight } from './scripts/measures.ts';
import { watchScrollEffects } from './scripts/effects.ts';
import { keepFixedContents, releaseFixed, rememberFixed } from './scripts/fixed.ts';
import {
  compareWithSeen,
  type Difference,
  hideResizes,
  rememberPlaces,
  restorePanes,
  sampleContents,
} from './scripts/neutrality.ts';
import { shareInSight } from './scripts/scenes.ts';
import { announceScroll, findScroller, growScroller, isLocked } from './scripts/scrolling.ts';
import { freezeMediaQueries, pinPseudos, pinSizes, rememberSizes } from './scripts/sizes.ts';
import { mayStyle } from './scripts/styles.ts';
import { untilFrames, untilLaidOut, untilObserved } from './scripts/waits.ts';
import { holdEffects, scrollPage } from './scroll-page.ts';
import { assertHolds, maxCssHeight } from './size-limits.ts';
import { maxTiles, tileHeight } from './tiles.ts';
import { step } from './world.ts';

/** Sizes that pages give in shares of the viewport's height. */
const pinned = [
  'height',
  'min-height',
  'max-height',
  'top',
  'bottom',
  'margin-top',
  'margin-bottom',
  'padding-top',
  'padding-bottom',
  'font-size',
  'flex-basis',
  'row-gap',
  'grid-template-rows',
  'grid-auto-rows',
];

/** Growing the page may let it grow once more; after so many turns it is taken as it is. */
const maxTurns = 5;
/** What a page does on being scrolled, it does at the stations of a few steps; the rest is in sight when it has grown. */
const scrollSteps = 12;
const callTimeoutMs = 5000;
/** For a page that is not drawn. */
const observeTimeoutMs = 150;
/** A page that cannot be scrolled may be about to let go: its loader covers it. */
const unlockTimeoutMs = 600;
/** So much of what a person has seen may be gone, or stand elsewhere, when the page has grown: slides move on by themselves. */
const maxLostShare = 0.1;
const maxMovedShare = 0.2;
/** Of the viewport: so much of what comes and goes in boxes that are fixed to it may be missing. */
const maxLostScenes = 0.25;
/** Of the viewport: by so much a page may be taller or shorter than it was. */
const maxDriftShare = 0.25;
/** A page that becomes so many times as tall with the viewport feeds on it, whatever it says afterwards. */
const maxGrowth = 3;
/** Rounding, in CSS pixels. */
const maxFollowError = 2;
/** For scripts to give up the height that they took from the viewport. */
const shrinkTimeoutMs = 300;
const leaveTimeoutMs = 1500;

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
  /** `single`: the viewport shows all of it; `grown`: one as tall as the page does; `tiles`: it is to be taken place by place. */
  readonly strategy: CaptureStrategy;
  /** It cannot be scrolled, and shows the viewport only, whatever lies below. */
  readonly isLocked: boolean;
  /** In the viewport that was asked for, in CSS pixels; undefined where the page is not to be taken in tiles. */
  readonly naturalHeight?: number | undefined;
}

/**
 * Brings a page into a shape in which one picture shows all of it: everything loaded and in place that loads or appears on
 * scrolling, and the viewport as tall as the page. Then fixed and sticky elements stand once, and backgrounds that are
 * fixed to the viewport cover all of it; what measures itself by the viewport's height is kept as it was. A page that is
 * not the same in such a viewport is left in the one that was asked for, and is to be taken in tiles.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function showFullPage(open: OpenPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  const scale = viewport.deviceScaleFactor;
  const maxHeight = maxCssHeight(format, scale);
  const call = callIn(open);

  const [[, , , hidden, first], locked] = await Promise.all([
    open.world.callEach(
      [
        step(loadEagerly),
        step(watchMotion),
        step(untilLaidOut, observeTimeoutMs),
        step(findScroller),
        step(measurePage),
        step(watchScrollEffects),
        step(sampleContents),
      ],
      limitOf(measurePage),
      [mayStyle],
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
  const [before] = await Promise.all([measureAtRest(open), call(rememberPlaces, [])]);
  // Scrolling may have made the scroller's content taller.
  const content = before.height + (hidden === null ? 0 : ((await call(findScroller, [])) ?? 0));
  if (content > maxHeight && !stillGrew) {
    assertHolds(format, Math.round(viewport.width * scale), Math.round(content * scale));
  }
  const { left } = before;
  if (content <= before.viewHeight) {
    return { height: before.viewHeight, left, truncated: stillGrew, strategy: 'single', isLocked: false };
  }
  const canTile = format !== 'pdf' && hidden === null && content <= maxTiles * tileHeight(viewport);
  const height = await grow(open, { before, content: Math.min(content, maxHeight), maxHeight, canTile });
  const whole: FullPage = {
    height: height ?? content,
    left,
    truncated: (stillGrew && (reachedEnd || (height ?? content) > content)) || content > maxHeight,
    mayGrow: stillGrew,
    strategy: 'grown',
    isLocked: false,
    naturalHeight: canTile ? before.height : undefined,
  };
  const feedsOnItself = height === undefined || (canTile && height > before.height * maxGrowth);
  return feedsOnItself ? leaveForTiles(open, { whole, naturalHeight: before.height, maxHeight }) : whole;
}

/**
 * Holds a page that has come to rest in its tall viewport against what a person finds: where too much of it is gone, stands
 * elsewhere, or has another height, it is left in the viewport that was asked for, to be taken in tiles.
 */
export async function checkGrowth(open: OpenPage, whole: FullPage, options: RenderOptions): Promise<FullPage> {
  const { naturalHeight, strategy } = whole;
  if (strategy !== 'grown' || naturalHeight === undefined) return whole;
  const { viewport, format } = options;
  const [{ seen, lost, moved, lostScenes }, now] = await compareAtRest(open, viewport.height);
  const isTaller = now.height > whole.height ? now.height : now.contentHeight;
  const drift = isTaller - naturalHeight;
  const hasDrifted = Math.abs(drift) > viewport.height * maxDriftShare;
  const isComplete = lost <= seen * maxLostShare && lostScenes <= maxLostScenes;
  const isNeutral =
    isComplete &&
    (hasDrifted ? !(await isOfViewport(open, { whole, naturalHeight, drift })) : moved <= seen * maxMovedShare);
  if (isNeutral) return whole;
  return leaveForTiles(open, { whole, naturalHeight, maxHeight: maxCssHeight(format, viewport.deviceScaleFactor) });
}

/** What comes in, or goes, as the animations of others end is to be heard of before the page is held against anything. */
async function compareAtRest({ world }: OpenPage, viewHeight: number): Promise<[Difference, PageMeasures]> {
  const steps = [step(finishAnimations), step(compareWithSeen, viewHeight), step(measurePage)] as const;
  for (let turn = 1; ; turn += 1) {
    const [finished, difference, measures] = await world.callEach(steps, limitOf(compareWithSeen), [shareInSight]);
    if (finished === 0 || turn === maxTurns) return [difference, measures];
    await world.call(untilObserved, [observeTimeoutMs], limitOf(untilObserved));
  }
}

/** Whether what a page is taller or shorter by is the tall viewport's doing, and not content that has come in: that would stay. */
async function isOfViewport(
  open: OpenPage,
  { whole, naturalHeight, drift }: { whole: FullPage; naturalHeight: number; drift: number },
): Promise<boolean> {
  const call = callIn(open);
  const viewHeight = open.emulation.viewport.height;
  // Scripts that copied the height of the viewport are to copy it again.
  await Promise.all([call(hideResizes, [false]), call(releaseFixed, [])]);
  await open.emulation.grow(viewHeight);
  if (await call(untilHeight, [naturalHeight + drift / 2, Math.sign(drift), shrinkTimeoutMs])) return true;
  await call(hideResizes, [true]);
  await showIn(open, whole.height);
  await call(keepFixedContents, [whole.height - viewHeight]);
  return false;
}

/** The page is again in the viewport that was asked for. */
async function leaveForTiles(
  open: OpenPage,
  { whole, naturalHeight, maxHeight }: { whole: FullPage; naturalHeight: number; maxHeight: number },
): Promise<FullPage> {
  const call = callIn(open);
  await Promise.all([call(hideResizes, [false]), call(releaseFixed, [])]);
  await open.emulation.grow(open.emulation.viewport.height);
  await Promise.all([call(untilFrames, [2]), call(restorePanes, [])]);
  // What grew with the viewport may take its time to shrink again.
  await call(untilHeight, [Math.min(whole.height, naturalHeight * maxGrowth), 1, leaveTimeoutMs]);
  const { height } = await call(measurePage, []);
  return {
    ...whole,
    height: Math.min(height, maxHeight),
    truncated: whole.truncated || height > maxHeight,
    strategy: 'tiles',
  };
}

/** Follows what has changed the height of the page since: images that came in, fonts. */
export async function fitFullPage(open: OpenPage, whole: FullPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  if (whole.isLocked) return whole;
  const maxHeight = maxCssHeight(format, viewport.deviceScaleFactor);
  const call = callIn(open);
  const measures = await measureAtRest(open);
  if (whole.strategy === 'tiles') {
    const height = Math.min(measures.height, maxHeight);
    return { ...whole, height, left: measures.left, truncated: whole.truncated || measures.height > maxHeight };
  }
  const fits = measures.height === whole.height && measures.contentHeight >= whole.height - 1;
  if (fits) {
    if (whole.strategy === 'grown') await call(restorePanes, []);
    return { ...whole, left: measures.left };
  }
  const height = await settleHeight(open, { height: whole.height, viewHeight: viewport.height, maxHeight });
  // What has come in since looks again at what is in sight, as it did when the page was shown.
  await call(announceScroll, []);
  await Promise.all([call(untilFrames, [2]), call(finishAnimations, [])]);
  const [{ height: now, left }] = await Promise.all([call(measurePage, []), call(restorePanes, [])]);
  const strategy = height > viewport.height ? 'grown' : whole.strategy;
  const goesOn = whole.mayGrow === true && height > whole.height;
  return { ...whole, height, left, truncated: whole.truncated || goesOn || now > height, strategy };
}

/** @returns its height then; undefined for one that can be taken in tiles, and that would grow with its viewport for ever */
async function grow(
  open: OpenPage,
  {
    before,
    content,
    maxHeight,
    canTile,
  }: {
    readonly before: PageMeasures;
    readonly content: number;
    readonly maxHeight: number;
    readonly canTile: boolean;
  },
): Promise<number | undefined> {
  const { viewHeight } = before;
  const call = callIn(open);
  await Promise.all([
    call(holdScrollAnimations, []),
    call(freezeMediaQueries, []),
    call(rememberFixed, []),
    open.world.call(rememberSizes, [pinned], limitOf(rememberSizes), [finishAnimations]),
    call(hideResizes, [true]),
  ]);
  await open.emulation.grow(content);
  await Promise.all([call(growScroller, [content - viewHeight]), call(untilFrames, [2])]);
  await call(untilObserved, [observeTimeoutMs]);
  await call(announceScroll, []);
  for (let turn = 0; turn < maxTurns; turn += 1) {
    const [elements, pseudos] = await pin(open);
    if (elements + pseudos === 0) break;
    await Promise.all([call(finishAnimations, []), call(untilFrames, [2])]);
  }
  if (canTile) {
    const { height: now } = await call(measurePage, []);
    // By as much as the viewport, or a whole number of times that: content that has come in is never so tall.
    const grown = content - viewHeight;
    const times = Math.round((now - content) / grown);
    if (times > 0 && Math.abs(now - content - times * grown) <= maxFollowError) return undefined;
  }
  const height = await settleHeight(open, { height: content, viewHeight, maxHeight });
  await Promise.all([call(keepFixedContents, [height - viewHeight]), call(restorePanes, [])]);
  return height;
}

/** Fits the viewport to the content, which may have become taller or shorter by what happened to it. */
async function settleHeight(
  open: OpenPage,
  { height, viewHeight, maxHeight }: { height: number; viewHeight: number; maxHeight: number },
): Promise<number> {
  const call = callIn(open);
  let current = height;
  for (let turn = 0; turn < maxTurns; turn += 1) {
    const measures = await measureAtRest(open);
    let wanted = Math.min(measures.height, maxHeight);
    if (wanted === current && measures.contentHeight < current - 1) {
      // The viewport may be what makes the page so tall. A shorter one tells.
      await open.emulation.grow(Math.max(viewHeight, measures.contentHeight));
      wanted = Math.min((await measureAtRest(open)).height, maxHeight);
      // What went out of sight meanwhile comes in again.
      await showIn(open, wanted);
      return wanted;
    }
    if (wanted === current) return current;
    await showIn(open, wanted);
    await pin(open);
    await call(finishAnimations, []);
    current = wanted;
  }
  return current;
}

/** Lays the page out in a viewport of another height, until its observers have heard of what is in sight there, and that has come in. */
async function showIn({ emulation, world }: OpenPage, height: number): Promise<void> {
  await emulation.grow(height);
  const steps = [step(untilFrames, 2), step(untilObserved, observeTimeoutMs), step(finishAnimations)] as const;
  await world.callEach(steps, limitOf(untilFrames));
}

/**
 * On its way in or out, a part is of no size that counts. In one call, as an observer of the page may set a class in between whose
 * transition has only begun.
 */
async function measureAtRest({ world }: OpenPage): Promise<PageMeasures> {
  const [, measures] = await world.callEach([step(finishAnimations), step(measurePage)], limitOf(measurePage));
  return measures;
}

/**
 * Elements first: what is in them follows their size, and not the viewport's. Sizes on their way tell nothing, so that it is one call,
 * as in {@link measureAtRest}.
 */
async function pin({ world }: OpenPage): Promise<[elements: number, pseudos: number]> {
  const steps = [step(finishAnimations), step(pinSizes, pinned), step(pinPseudos, pinned)] as const;
  const [, ...pins] = await world.callEach(steps, limitOf(pinSizes));
  return pins;
}

function callIn({ world }: OpenPage) {
  return <A extends readonly unknown[], R>(fn: (...args: A) => R, args: A): Promise<Awaited<R>> =>
    world.call(fn, args, limitOf(fn));
}

function limitOf(fn: { readonly name: string }) {
  return { timeoutMs: callTimeoutMs, what: fn.name };
}
