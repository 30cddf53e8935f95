import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureReport, SoftTimeout } from '@webcapture/shared/api/capture.ts';
import { DeadlineError, delay } from '@webcapture/shared/runtime/deadline.ts';
import type { BlockingSession } from '../blocking/blocking-session.ts';
import type { AddedStyle } from './client-code.ts';
import { fitFullPage, type FullPage, showFullPage } from './full-page.ts';
import { keepHidden } from './hiding.ts';
import { isOfFrame, LoadingRequests } from './network.ts';
import { asLaidOut, keepMobileLayout, type OpenPage } from './open.ts';
import { asksForPart, framePart, type Part, showPart } from './part.ts';
import { assertPrintable, layOutForPaper, layOutForPrint } from './pdf.ts';
import { untilReady } from './ready.ts';
import { scriptsHaveEnded } from './scripts/activity.ts';
import { finishAnimations, showPulsing, waitForRest, waitForReveals } from './scripts/animations.ts';
import { watchScrollEffects } from './scripts/effects.ts';
import { isInert } from './scripts/print.ts';
import { rememberRevealed } from './scripts/revealed.ts';
import { hasSource, loadEagerly, waitForAssets } from './scripts/assets.ts';
import { fingerprintCanvas, waitForCanvases } from './scripts/canvases.ts';
import { waitForContent } from './scripts/content.ts';
import { hasPainted, measurePage } from './scripts/measures.ts';
import { findScroller, scrollerHelpers, unrollScroller } from './scripts/scrollers.ts';
import { announceScroll } from './scripts/scrolling.ts';
import { mayStyle } from './scripts/styles.ts';
import { everyElement } from './scripts/tree.ts';
import { untilFrames } from './scripts/waits.ts';
import { holdEffects, scrollPage } from './scroll-page.ts';
import { step } from './world.ts';

/** What is known of a page before it settles. */
export interface SettleState {
  /** When something is blocked. */
  readonly blocking: BlockingSession | undefined;
  /** When the capture has one. */
  readonly style: AddedStyle | undefined;
  /** The capture has run a script of its own in the page. */
  readonly runsScript: boolean;
  /** Whether the page got as far as it was to get in time. */
  readonly loaded: boolean;
}

/** What a page has come to. */
export interface Settled {
  readonly images: CaptureReport['images'];
  readonly softTimeouts: readonly SoftTimeout[];
  /** With isFullPage, for images. */
  readonly whole: FullPage | undefined;
  /** What is taken in place of the viewport, where that was asked for. */
  readonly part: Part | undefined;
}

/** Browsers show text in another font after 3 s without its own. */
const fontTimeoutMs = 3200;
/** Scripts that fade in, or count up, take no longer. */
const restTimeoutMs = 1500;
/** For content that comes in one by one. */
const revealTimeoutMs = 7000;
/** For the next one of these. Many pages put off the first one by a second and a half. */
const nextRevealMs = 1700;
/** For an empty page to change at all. */
const quietTimeoutMs = 450;
/** For an empty page that changes to show something. */
const contentTimeoutMs = 2500;
/** For what follows the first content of a page that was empty. */
const moreContentTimeoutMs = 3000;
/** Charts take a second to draw themselves in. */
const canvasTimeoutMs = 1500;
const callTimeoutMs = 5000;
const limit = (what: string) => ({ timeoutMs: callTimeoutMs, what });
/** From the top of a page to its end, before it is printed. */
const paperScrollSteps = 4;
/** Of the viewport that everything is brought into sight in, in CSS pixels. */
const maxViewHeight = 60_000;
/** For consent dialogs to be answered, among other things. */
const tidyTimeoutMs = 8000;

/**
 * Waits for what the capture asked to wait for (`delay`, images, fonts), and brings the page into the shape to be taken.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function settle(
  open: OpenPage,
  options: RenderOptions,
  { blocking, style, runsScript, loaded }: SettleState,
): Promise<Settled> {
  const { world, deadline } = open;
  const softTimeouts: SoftTimeout[] = [];
  const hasLoaded = loaded && (options.waitUntil === 'load' || options.waitUntil === 'networkidle');
  // The page may be busy with its own scripts, for ever: then this is the first to tell. One that has loaded tells next.
  const painted = hasLoaded || world.call(hasPainted, [], limit('the first answer'));
  if (painted !== true) painted.catch(() => undefined);
  // One that has drawn nothing waits for a stylesheet, and can be no picture: loading is stopped, and what has come so far
  // is drawn.
  if (!loaded && !(await painted)) await deadline.run(open.cdp.send('Page.stopLoading'), callTimeoutMs, 'stopping');
  // Not sooner: the browser forgets it when the page moves to another process. A pdf is laid out for its medium later.
  if (options.media === 'print' && options.format !== 'pdf') {
    open.undoLater(() => open.page.emulateMedia({ media: null }));
    await deadline.run(open.page.emulateMedia({ media: 'print' }), callTimeoutMs, 'the media type');
  }
  await style?.keep();
  const asksForScripts = runsScript || options.click !== undefined || blocking !== undefined;
  const ready = hasLoaded ? await untilReady(open, options) : { mayMove: true, softTimeouts: [] };
  softTimeouts.push(...ready.softTimeouts);
  const isStill = !ready.mayMove && !asksForScripts;
  if (options.delay > 0) await deadline.run(delay(options.delay), options.delay + callTimeoutMs, 'the delay');
  if (blocking) await tidy(open, blocking, softTimeouts);
  await keepHidden(open, options);
  // A page that is still empty is about to be filled: a second look finds what a person sees a moment later.
  if (hasLoaded && !isStill) {
    const timeoutMs = contentTimeoutMs + moreContentTimeoutMs + callTimeoutMs;
    await world.call(waitForContent, [quietTimeoutMs, contentTimeoutMs, moreContentTimeoutMs], {
      timeoutMs,
      what: 'the first content',
    });
  }

  await keepMobileLayout(open);
  const laidOut = asLaidOut(open, options);
  const paper = options.format === 'pdf';
  if (paper && options.isFullPage) await layOutForPrint(open, options);
  const frames = new FrameContent(open);
  let whole = options.isFullPage ? await showFullPage(open, laidOut) : undefined;
  // Nothing moves in a page whose scripts are still, unless showing all of it has set something going.
  let mayMove = !isStill || whole !== undefined;
  if (paper && !whole) {
    await assertPrintable(open);
    const wasInert = await bringAll(open, await layOutForPaper(open, options), isStill);
    mayMove ||= !wasInert;
  }

  const isLarge = asksForPart(options) && (await showPart(open, options));
  const scope = whole || paper || isLarge ? 'all' : 'visible';
  const assetsTimeoutMs = Math.max(options.imageTimeout, fontTimeoutMs);
  // What never comes to rest in a canvas is waited for beside the rest of the page, and not after it.
  const canvases = mayMove
    ? world.call(waitForCanvases, [canvasTimeoutMs], { timeoutMs: canvasTimeoutMs + callTimeoutMs, what: 'canvases' }, [
        fingerprintCanvas,
      ])
    : undefined;
  canvases?.catch(() => undefined);
  if (mayMove) await untilAtRest(open, { isWatched: whole !== undefined, mayBeStill: isStill });
  const [{ fontsPending, ...images }, , framesLoaded] = await Promise.all([
    world.call(
      waitForAssets,
      [scope, options.imageTimeout, fontTimeoutMs],
      { timeoutMs: assetsTimeoutMs + callTimeoutMs, what: 'images' },
      [mayStyle, hasSource],
    ),
    canvases,
    whole ? frames.loaded(options.imageTimeout) : true,
    painted,
  ]);
  if ((images.pending > 0 || !framesLoaded) && options.imageTimeout > 0) softTimeouts.push('images');
  if (fontsPending) softTimeouts.push('fonts');

  if (blocking) await tidy(open, blocking, softTimeouts);
  await style?.keep();
  await keepHidden(open, options);
  const [finished] = await world.callEach([step(finishAnimations), step(showPulsing)], limit('finishing animations'));
  // What the page does at the end of an animation is to be seen. (The shot itself draws the page as it is.)
  if (finished > 0) await world.call(untilFrames, [2], limit('frames'));
  if (whole) whole = await fitFullPage(open, whole, laidOut);
  const part = asksForPart(options) ? await framePart(open, options) : undefined;
  return { images, softTimeouts, whole, part };
}

/**
 * Waits for what scripts fade in or count up, and for what they show one after the other.
 *
 * @param isWatched what scripts change is noted, so that the end of it can be told
 * @param mayBeStill its scripts had ended, and are asked once more
 */
async function untilAtRest(
  { world }: OpenPage,
  { isWatched, mayBeStill }: { readonly isWatched: boolean; readonly mayBeStill: boolean },
): Promise<void> {
  const resting = { timeoutMs: restTimeoutMs + callTimeoutMs, what: 'animations' };
  const rest = () => world.call(waitForRest, [restTimeoutMs, mayBeStill], resting, [scriptsHaveEnded]);
  if (isWatched) await rest();
  const revealing = { timeoutMs: revealTimeoutMs + callTimeoutMs, what: 'what comes in step by step' };
  const revealed = await world.call(waitForReveals, [revealTimeoutMs, nextRevealMs], revealing, [mayStyle]);
  if (revealed === 0 || !isWatched) return;
  await world.call(finishAnimations, [], limit('finishing animations'));
  await rest();
}

/**
 * Paper shows everything, so that everything has to be there: it is for a moment in a viewport as tall as the page. What has
 * come into sight there is to be seen on paper, whatever scripts do when it is out of sight again.
 *
 * @param paper a page of it, in CSS pixels
 * @param mayBeInert a page that cannot hear of any of this is left as it is
 * @returns whether it was
 */
async function bringAll(open: OpenPage, paper: { readonly height: number }, mayBeInert: boolean): Promise<boolean> {
  const { world, emulation } = open;
  if (mayBeInert) {
    const helpers = [mayStyle, scriptsHaveEnded];
    const [, inert] = await world.callEach([step(loadEagerly), step(isInert)], limit('loading'), helpers);
    if (inert) return true;
  }
  const first = [step(untilFrames, 2), step(loadEagerly), step(findScroller), step(watchScrollEffects)] as const;
  await world.callEach(first, limit('frames'), [everyElement, ...scrollerHelpers]);
  // To the end and back, for lists that grow there, and effects that scripts tie to scrolling.
  await scrollPage(open, paperScrollSteps);
  await holdEffects(open);
  const unrolled = [step(findScroller), step(unrollScroller), step(measurePage)] as const;
  const [, , { height, viewHeight }] = await world.callEach(unrolled, limit('measuring'), [
    everyElement,
    ...scrollerHelpers,
  ]);
  if (height <= viewHeight) return false;
  await emulation.grow(Math.min(height, maxViewHeight));
  await world.callEach([step(untilFrames, 2), step(announceScroll)], limit('frames'));
  const revealing = { timeoutMs: revealTimeoutMs + callTimeoutMs, what: 'what comes in step by step' };
  const steps = [step(waitForReveals, revealTimeoutMs, nextRevealMs), step(rememberRevealed)] as const;
  await world.callEach(steps, revealing, [finishAnimations, mayStyle]);
  await emulation.grow(paper.height);
  await world.call(untilFrames, [1], limit('frames'));
  return false;
}

/** Answers consent dialogs and hides what is left of blocked things; much quicker the second time. */
async function tidy({ deadline }: OpenPage, blocking: BlockingSession, softTimeouts: SoftTimeout[]): Promise<void> {
  try {
    const tidied = blocking.beforeShoot(Date.now() + Math.min(tidyTimeoutMs, deadline.remainingMs));
    await deadline.run(tidied, tidyTimeoutMs + callTimeoutMs, 'tidying the page');
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    if (!softTimeouts.includes('settle')) softTimeouts.push('settle');
  }
}

/** Frames are not waited for longer than this: some hold things that never end. */
const maxFramesMs = 2500;
/** For a document that has come to ask for what it shows. */
const askMs = 50;

/** What the frames of a page ask for from when this was made: their own documents cannot be asked, for many are of other sites. */
class FrameContent {
  readonly #requests: LoadingRequests;
  readonly #open: OpenPage;

  constructor(open: OpenPage) {
    this.#open = open;
    this.#requests = new LoadingRequests(open.page, isOfFrame);
    open.onRelease(() => this.#requests.stop());
  }

  /**
   * Waits until it has come; not at all where nothing was asked for.
   *
   * @returns whether it has, within `timeoutMs`
   */
  async loaded(timeoutMs: number): Promise<boolean> {
    if (this.#requests.begun === 0 || timeoutMs === 0) return true;
    try {
      await this.#open.deadline.run(this.#quiet(), Math.min(timeoutMs, maxFramesMs), 'frames');
      return true;
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      return false;
    }
  }

  async #quiet(): Promise<void> {
    do {
      await this.#requests.none();
      await delay(askMs);
    } while (this.#requests.open > 0);
  }
}
