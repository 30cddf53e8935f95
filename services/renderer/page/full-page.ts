import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { isContent, LoadingRequests } from './network.ts';
import type { OpenPage } from './open.ts';
import { finishAnimations, holdScrollAnimations, watchMotion } from './scripts/animations.ts';
import { loadEagerly } from './scripts/assets.ts';
import { measurePage, type PageMeasures } from './scripts/measures.ts';
import { announceScroll, findScroller, growScroller, scrollThrough, scrollToTop } from './scripts/scrolling.ts';
import { freezeMediaQueries, pinPseudos, pinSizes, rememberSizes } from './scripts/sizes.ts';
import { untilFrames, untilObserved } from './scripts/waits.ts';
import { assertHolds, maxCssHeight } from './size-limits.ts';

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
/** Scrolling takes no longer than this, however much the page grows; a last measurement at its end may come on top. */
const scrollBudgetMs = 10_000;
/** A page that has grown so often on reaching its end, or by so many CSS pixels, will go on growing. */
const maxScrollRounds = 10;
const maxGrowth = 20_000;
/** For what the page asked the server for on being scrolled. */
const loadingTimeoutMs = 1500;
/** A page that asks all the time is measured so often. */
const maxMeasurements = 2;
/** For what watches the end: what is missed here is missed for good. */
const endTimeoutMs = 2000;

/** The whole page, laid out and in sight. */
export interface FullPage {
  /** CSS pixels. */
  readonly height: number;
  /** How far the content hangs out to the left of it, in CSS pixels. */
  readonly left: number;
  /** It still grew when we stopped. */
  readonly truncated: boolean;
}

/**
 * Brings a page into a shape in which one picture shows all of it: everything loaded and in place that loads or appears on
 * scrolling, and the viewport as tall as the page. Then fixed and sticky elements stand once, and backgrounds that are
 * fixed to the viewport cover all of it; what measures itself by the viewport's height is kept as it was.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function showFullPage(open: OpenPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  const scale = viewport.deviceScaleFactor;
  const maxHeight = maxCssHeight(format, scale);
  const call = callIn(open);

  // Sent at once, they run one after the other.
  const [, , hidden, first] = await Promise.all([
    call(loadEagerly, []),
    call(watchMotion, []),
    call(findScroller, []),
    call(measurePage, []),
  ]);
  // A page that is too tall before it is scrolled need not be scrolled.
  assertHolds(format, Math.round(viewport.width * scale), Math.round((first.height + (hidden ?? 0)) * scale));
  const { stillGrew } = await scrollPage(open, scrollSteps);
  const before = await call(measurePage, []);
  // Scrolling may have made the scroller's content taller.
  const content = before.height + (hidden === null ? 0 : ((await call(findScroller, [])) ?? 0));
  if (content > maxHeight && !stillGrew) {
    assertHolds(format, Math.round(viewport.width * scale), Math.round(content * scale));
  }
  if (content <= before.viewHeight) return { height: before.viewHeight, left: before.left, truncated: stillGrew };
  const height = await grow(open, { before, content: Math.min(content, maxHeight), maxHeight });
  return { height, left: before.left, truncated: stillGrew || content > maxHeight };
}

/** Follows what has changed the height of the page since: images that came in, fonts. */
export async function fitFullPage(open: OpenPage, whole: FullPage, options: RenderOptions): Promise<FullPage> {
  const { viewport, format } = options;
  const maxHeight = maxCssHeight(format, viewport.deviceScaleFactor);
  const measures = await callIn(open)(measurePage, []);
  const fits = measures.height === whole.height && measures.contentHeight >= whole.height - 1;
  if (fits) return { ...whole, left: measures.left };
  const height = await settleHeight(open, { height: whole.height, viewHeight: viewport.height, maxHeight });
  const { height: now, left } = await callIn(open)(measurePage, []);
  return { height, left, truncated: whole.truncated || now > height };
}

async function grow(
  open: OpenPage,
  { before, content, maxHeight }: { before: PageMeasures; content: number; maxHeight: number },
): Promise<number> {
  const { viewHeight } = before;
  const call = callIn(open);
  await Promise.all([
    call(holdScrollAnimations, []),
    // On its way to another size, nothing tells what it depends on.
    call(finishAnimations, []),
    call(freezeMediaQueries, []),
    call(rememberSizes, [pinned]),
  ]);
  await open.emulation.grow(content);
  await Promise.all([call(growScroller, [content - viewHeight]), call(untilFrames, [2])]);
  await call(announceScroll, []);
  for (let turn = 0; turn < maxTurns; turn += 1) {
    const [elements, pseudos] = await pin(open);
    if (elements + pseudos === 0) break;
    await Promise.all([call(finishAnimations, []), call(untilFrames, [2])]);
  }
  return settleHeight(open, { height: content, viewHeight, maxHeight });
}

/** Fits the viewport to the content, which may have become taller or shorter by what happened to it. */
async function settleHeight(
  open: OpenPage,
  { height, viewHeight, maxHeight }: { height: number; viewHeight: number; maxHeight: number },
): Promise<number> {
  const call = callIn(open);
  let current = height;
  for (let turn = 0; turn < maxTurns; turn += 1) {
    const measures = await call(measurePage, []);
    let wanted = Math.min(measures.height, maxHeight);
    if (wanted === current && measures.contentHeight < current - 1) {
      // The viewport may be what makes the page so tall. A shorter one tells.
      await open.emulation.grow(Math.max(viewHeight, measures.contentHeight));
      wanted = Math.min((await call(measurePage, [])).height, maxHeight);
      await open.emulation.grow(wanted);
      await call(untilFrames, [2]);
      // What went out of sight meanwhile comes in again.
      await call(finishAnimations, []);
      return wanted;
    }
    if (wanted === current) return current;
    await open.emulation.grow(wanted);
    await call(untilFrames, [2]);
    await pin(open);
    await call(finishAnimations, []);
    current = wanted;
  }
  return current;
}

/** Elements first: what is in them follows their size, and not the viewport's. Sizes on their way tell nothing. */
async function pin(open: OpenPage): Promise<[elements: number, pseudos: number]> {
  const call = callIn(open);
  const [, ...pins] = await Promise.all([
    call(finishAnimations, []),
    call(pinSizes, [pinned]),
    call(pinPseudos, [pinned]),
  ]);
  return pins;
}

function callIn({ world }: OpenPage) {
  return <A extends readonly unknown[], R>(fn: (...args: A) => R, args: A): Promise<Awaited<R>> =>
    world.call(fn, args, { timeoutMs: callTimeoutMs, what: fn.name });
}

/**
 * Scrolls through the page and back, so that what loads or appears on scrolling is there. A page that grows when its end
 * is reached is followed for a while.
 *
 * @param maxSteps from the beginning to the end
 * @returns whether the page still grew when scrolling stopped
 */
export async function scrollPage(
  { world, page, deadline }: OpenPage,
  maxSteps: number,
): Promise<{ readonly stillGrew: boolean }> {
  const measure = () => world.call(scrollThrough, [0, 0, 1], { timeoutMs: callTimeoutMs, what: 'measuring' });
  const first = await measure();
  if (first.reachedEnd || !first.scripted) return { stillGrew: false };
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
    let stillGrew = false;
    for (let round = 0; round < maxScrollRounds; round += 1) {
      const left = Math.max(0, end - performance.now());
      const { reachedEnd, height } = await world.call(scrollThrough, [left, first.height + maxGrowth, maxSteps], {
        timeoutMs: left + callTimeoutMs,
        what: 'scrolling',
      });
      stillGrew = height > first.height;
      if (!reachedEnd) break;
      await observed();
      stillGrew = await hasGrown(height);
      if (!stillGrew) break;
    }
    await world.call(scrollToTop, [], { timeoutMs: callTimeoutMs, what: 'scrolling back' });
    return { stillGrew };
  } finally {
    loading.stop();
  }
}

function ignoreDeadline(error: unknown): void {
  if (!(error instanceof DeadlineError)) throw error;
}
