import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { announceScroll } from './in-page/announce-scroll.ts';
import { findScroller } from './in-page/find-scroller.ts';
import { finishAnimations } from './in-page/finish-animations.ts';
import { freezeMediaQueries } from './in-page/freeze-media-queries.ts';
import { growScroller } from './in-page/grow-scroller.ts';
import { holdScrollAnimations } from './in-page/hold-scroll-animations.ts';
import { loadEagerly } from './in-page/load-eagerly.ts';
import { measurePage, type PageMeasures } from './in-page/measure-page.ts';
import { nextFrame } from './in-page/next-frame.ts';
import { pinPseudos } from './in-page/pin-pseudos.ts';
import { pinSizes } from './in-page/pin-sizes.ts';
import { rememberSizes } from './in-page/remember-sizes.ts';
import { watchMotion } from './in-page/watch-motion.ts';
import type { OpenPage } from './open.ts';
import { assertHolds, maxCssHeight } from './page-limits.ts';
import { scrollPage } from './scroll-page.ts';

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
const mostTurns = 5;
/** What a page does on being scrolled, it does at the stations of a few steps; the rest is in sight when it has grown. */
const scrollSteps = 12;
const callMs = 5000;

/** The whole page, laid out and in sight. */
export interface WholePage {
  /** CSS pixels. */
  readonly height: number;
  /** How far the content hangs out to the left of it, in CSS pixels. */
  readonly left: number;
  /** It still grew when we stopped. */
  readonly truncated: boolean;
}

/**
 * Brings a page into a shape in which one look shows all of it: everything loaded and in place that loads or appears on
 * scrolling, and the viewport as tall as the page. Then fixed and sticky elements stand once, and backgrounds that are
 * fixed to the viewport cover all of it; what measures itself by the viewport's height is kept as it was.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function showWholePage(open: OpenPage, options: RenderOptions): Promise<WholePage> {
  const { viewport, format } = options;
  const scale = viewport.deviceScaleFactor;
  const mostHeight = maxCssHeight(format, scale);
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
  if (content > mostHeight && !stillGrew) {
    assertHolds(format, Math.round(viewport.width * scale), Math.round(content * scale));
  }
  if (content <= before.viewHeight) return { height: before.viewHeight, left: before.left, truncated: stillGrew };
  const height = await grow(open, { before, content: Math.min(content, mostHeight), mostHeight });
  return { height, left: before.left, truncated: stillGrew || content > mostHeight };
}

/** Follows what has changed the height of the page since: images that came in, fonts. */
export async function fitWholePage(open: OpenPage, whole: WholePage, options: RenderOptions): Promise<WholePage> {
  const { viewport, format } = options;
  const mostHeight = maxCssHeight(format, viewport.deviceScaleFactor);
  const measures = await callIn(open)(measurePage, []);
  const fits = measures.height === whole.height && measures.contentHeight >= whole.height - 1;
  if (fits) return { ...whole, left: measures.left };
  const height = await settleHeight(open, { height: whole.height, viewHeight: viewport.height, mostHeight });
  const { height: now, left } = await callIn(open)(measurePage, []);
  return { height, left, truncated: whole.truncated || now > height };
}

async function grow(
  open: OpenPage,
  { before, content, mostHeight }: { before: PageMeasures; content: number; mostHeight: number },
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
  await open.metrics.grow(content);
  await Promise.all([call(growScroller, [content - viewHeight]), call(nextFrame, [2])]);
  await call(announceScroll, []);
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const [elements, pseudos] = await pin(open);
    if (elements + pseudos === 0) break;
    await Promise.all([call(finishAnimations, []), call(nextFrame, [2])]);
  }
  return settleHeight(open, { height: content, viewHeight, mostHeight });
}

/** Fits the viewport to the content, which may have become taller or shorter by what happened to it. */
async function settleHeight(
  open: OpenPage,
  { height, viewHeight, mostHeight }: { height: number; viewHeight: number; mostHeight: number },
): Promise<number> {
  const call = callIn(open);
  let current = height;
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const measures = await call(measurePage, []);
    let wanted = Math.min(measures.height, mostHeight);
    if (wanted === current && measures.contentHeight < current - 1) {
      // The viewport may be what makes the page so tall. A shorter one tells.
      await open.metrics.grow(Math.max(viewHeight, measures.contentHeight));
      wanted = Math.min((await call(measurePage, [])).height, mostHeight);
      await open.metrics.grow(wanted);
      await call(nextFrame, [2]);
      // What went out of sight meanwhile comes in again.
      await call(finishAnimations, []);
      return wanted;
    }
    if (wanted === current) return current;
    await open.metrics.grow(wanted);
    await call(nextFrame, [2]);
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
    world.call(fn, args, { ms: callMs, what: fn.name });
}
