import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureReport, SoftTimeout } from '@webcapture/shared/api/capture.ts';
import { DeadlineError, delay } from '@webcapture/shared/runtime/deadline.ts';
import type { BlockingSession } from '../blocking/blocking-session.ts';
import type { AddedStyle } from './client-code.ts';
import { callTimeoutMs } from './deadline.ts';
import { stopMotion } from './freeze.ts';
import { refitHeight, type FullPage, growToWholePage } from './full-page.ts';
import { hidesElements, keepHidden } from './hiding.ts';
import { isOfFrame, isRequesting, LoadingRequests } from './network.ts';
import { asLaidOut, emulateMediaType, keepMobileLayout, type OpenPage } from './open.ts';
import { requestsRegion, measureRegion, type PageRegion, scrollToRegion } from './region.ts';
import { layOutForPaper, layOutForPrint } from './pdf.ts';
import { untilReady } from './ready.ts';
import { mayChangeWithin, scriptsHaveEnded } from './scripts/activity.ts';
import { finishAnimations, showPulsing, waitForRest, waitForReveals } from './scripts/animations.ts';
import { watchScrollEffects } from './scripts/effects.ts';
import { movesEndlessly } from './scripts/motion.ts';
import { isInert } from './scripts/print.ts';
import { rememberRevealed } from './scripts/revealed.ts';
import {
  type AssetCounts,
  counting,
  countImages,
  type ImageCounts,
  loadEagerly,
  waitForAssets,
} from './scripts/assets.ts';
import { fingerprintCanvas, waitForCanvases } from './scripts/canvases.ts';
import { waitForContent } from './scripts/content.ts';
import { hasPainted, measurePage } from './scripts/measures.ts';
import { findScroller, scrollerHelpers, unrollScroller } from './scripts/scrollers.ts';
import { announceScroll } from './scripts/scrolling.ts';
import { cssMayUse } from './scripts/styles.ts';
import { everyElement } from './scripts/tree.ts';
import { untilFrames } from './scripts/waits.ts';
import { freezeScrollEffects, scrollPage } from './scroll-page.ts';
import { type Step, step } from './world.ts';

/** Input of {@link settle}. */
export interface SettleState {
  /** Undefined if nothing is blocked. */
  readonly blocking: BlockingSession | undefined;
  /** Undefined if the capture adds no style sheet. */
  readonly style: AddedStyle | undefined;
  /** Whether the capture has run the client's script in the page. */
  readonly runsScript: boolean;
  /** Whether the page reached `waitUntil` in time. */
  readonly loaded: boolean;
}

/** The result of {@link settle}. */
export interface Settled {
  readonly images: CaptureReport['images'];
  readonly softTimeouts: readonly SoftTimeout[];
  /** Undefined without `isFullPage`. */
  readonly fullPage: FullPage | undefined;
  /** The region that is captured instead of the viewport, if requested. */
  readonly region: PageRegion | undefined;
}

/** Time limit of the wait for fonts. After 3 s without a web font, browsers show the text in a fallback font. */
const fontTimeoutMs = 3200;
/** Time limit of the wait for elements that scripts fade in or count up. */
const restTimeoutMs = 1500;
/** Time limit of the wait for content that appears item by item. */
const revealTimeoutMs = 7000;
/** Time limit of the wait for the next item. Many pages show the first item after 1.5 s. */
const nextRevealMs = 1700;
/** Time limit of the wait for the first change of an empty page. */
const quietTimeoutMs = 450;
/** Time limit of the wait for the first content of an empty page that changes. */
const contentTimeoutMs = 2500;
/** Time limit of the wait for more content of a page that was empty. */
const moreContentTimeoutMs = 3000;
/** Time limit of the wait for canvases. Charts take a second to draw. */
const canvasTimeoutMs = 1500;
const limit = (what: string) => ({ timeoutMs: callTimeoutMs, what });
/** Number of scroll steps from the top of a page to its end, before it is printed. */
const paperScrollSteps = 4;
/** Maximum height of the tall viewport before printing, in CSS pixels. */
const maxViewHeight = 60_000;
/** Time limit of hiding blocked content, which includes answering consent dialogs. */
const hideBlockedTimeoutMs = 8000;

/**
 * Waits for what the request wants (`delay`, images, fonts), and prepares the page for the picture.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function settle(
  open: OpenPage,
  options: RenderOptions,
  { blocking, style, runsScript, loaded }: SettleState,
): Promise<Settled> {
  const { world, deadline, network } = open;
  const softTimeouts: SoftTimeout[] = [];
  const hasLoaded = loaded && (options.waitUntil === 'load' || options.waitUntil === 'networkidle');
  // If the page's scripts are busy, this call times out first. For a page that has loaded, the next step reports that.
  const painted = hasLoaded || world.call(hasPainted, [], limit('the first answer'));
  if (painted !== true) painted.catch(() => undefined);
  // A page that has not painted waits for a stylesheet. Loading is stopped, so that the page draws what has arrived.
  if (!loaded && !(await painted)) await deadline.run(open.cdp.send('Page.stopLoading'), callTimeoutMs, 'stopping');
  // The media type is not set earlier, because the browser resets it when the page moves to another process. A pdf sets it later.
  if (options.media === 'print' && options.format !== 'pdf') {
    await emulateMediaType(open, 'print', 'the media type');
  }
  await style?.keep();
  const actsOnPage = runsScript || options.click !== undefined || options.steps !== undefined;
  const mustWaitForScripts = actsOnPage || blocking !== undefined;
  const ready = hasLoaded ? await untilReady(open, options) : { needsRestWait: true, softTimeouts: [] };
  softTimeouts.push(...ready.softTimeouts);
  const scriptsIdle = !ready.needsRestWait && !mustWaitForScripts;
  if (options.delay > 0) await deadline.run(delay(options.delay), options.delay + callTimeoutMs, 'the delay');
  if (blocking) await hideBlocked(open, blocking, softTimeouts);
  await keepHidden(open, options);
  // An empty page will probably be filled in a moment, as a visitor would see it.
  if (hasLoaded && !scriptsIdle) {
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
  let fullPage = options.isFullPage ? await growToWholePage(open, laidOut) : undefined;
  // Nothing moves in a page with idle scripts, unless the full-page layout has triggered something.
  let needsRestWait = !scriptsIdle || fullPage !== undefined;
  if (paper && !fullPage) {
    const wasInert = await revealForPrint(open, await layOutForPaper(open, options), scriptsIdle);
    needsRestWait ||= !wasInert;
  }

  const isLarge = requestsRegion(options) && (await scrollToRegion(open, options));
  const scope = fullPage || paper || isLarge ? 'all' : 'visible';
  const isRead = options.format === 'none';
  const imageTimeout = isRead ? 0 : options.imageTimeout;
  const assetsTimeoutMs = isRead ? 0 : Math.max(imageTimeout, fontTimeoutMs);
  // This wait runs concurrently with the others, because some canvases never come to rest.
  const canvases =
    needsRestWait && !isRead
      ? world.call(
          waitForCanvases,
          [canvasTimeoutMs, !isRequesting(network)],
          { timeoutMs: canvasTimeoutMs + callTimeoutMs, what: 'canvases' },
          [fingerprintCanvas, mayChangeWithin, movesEndlessly],
        )
      : undefined;
  canvases?.catch(() => undefined);
  if (needsRestWait) await untilAtRest(open, { isWatched: fullPage !== undefined, mayBeIdle: scriptsIdle });
  const loading: Step<Promise<AssetCounts> | (ImageCounts & Partial<AssetCounts>)> = isRead
    ? step(countImages)
    : step(waitForAssets, scope, imageTimeout, fontTimeoutMs);
  const finishing = [step(finishAnimations), step(showPulsing)] as const;
  const mayChange = [blocking, style, canvases, fullPage, options.freeze].some(Boolean) || hidesElements(options);
  // If nothing is done between the two, they take one message to the page. A picture gains nothing, because it waits for a frame.
  const steps = (paper || isRead) && !mayChange ? ([loading, ...finishing] as const) : ([loading] as const);
  const loadingLimit = { timeoutMs: assetsTimeoutMs + callTimeoutMs, what: 'images' };
  const [[{ fontsPending, ...images }, finishedFirst], , framesLoaded] = await Promise.all([
    world.callEach(steps, loadingLimit, [cssMayUse, ...counting]),
    canvases,
    fullPage ? frames.loaded(imageTimeout) : true,
    painted,
  ]);
  if ((images.pending > 0 || !framesLoaded) && imageTimeout > 0) softTimeouts.push('images');
  if (fontsPending) softTimeouts.push('fonts');

  if (blocking) await hideBlocked(open, blocking, softTimeouts);
  await style?.keep();
  await keepHidden(open, options);
  if (options.freeze && !(await stopMotion(open))) softTimeouts.push('animations');
  const finished = finishedFirst ?? (await world.callEach(finishing, limit('finishing animations')))[0];
  // Waits for what the page does when an animation ends. The screenshot itself draws the current state, so nothing else is needed.
  if (finished > 0) await world.call(untilFrames, [2], limit('frames'));
  if (fullPage) fullPage = await refitHeight(open, fullPage, laidOut);
  const region = requestsRegion(options) ? await measureRegion(open, options) : undefined;
  return { images, softTimeouts, fullPage, region };
}

/**
 * Waits for elements that scripts fade in or count up, and for content that appears item by item.
 *
 * @param isWatched whether changes by scripts are recorded, so that their end can be detected
 * @param mayBeIdle whether the scripts had ended; if so, this is checked again
 */
async function untilAtRest(
  { world, network }: OpenPage,
  { isWatched, mayBeIdle }: { readonly isWatched: boolean; readonly mayBeIdle: boolean },
): Promise<void> {
  const resting = { timeoutMs: restTimeoutMs + callTimeoutMs, what: 'animations' };
  const rest = () => world.call(waitForRest, [restTimeoutMs, mayBeIdle], resting, [movesEndlessly, scriptsHaveEnded]);
  if (isWatched) await rest();
  const revealing = { timeoutMs: revealTimeoutMs + callTimeoutMs, what: 'what comes in step by step' };
  const reveals: Parameters<typeof waitForReveals> = [revealTimeoutMs, nextRevealMs, !isRequesting(network)];
  const revealed = await world.call(waitForReveals, reveals, revealing, [cssMayUse, mayChangeWithin]);
  if (revealed === 0 || !isWatched) return;
  await world.call(finishAnimations, [], limit('finishing animations'));
  await rest();
}

/**
 * Brings everything into view once, in a viewport as tall as the page, because paper shows the whole page. Content that was revealed
 * stays visible on paper, even if scripts hide it again.
 *
 * @param paper size of a printed page, in CSS pixels
 * @param mayBeInert if true, a page that cannot react to scrolling or resizing is left unchanged
 * @returns whether the page was left unchanged
 */
async function revealForPrint(
  open: OpenPage,
  paper: { readonly height: number },
  mayBeInert: boolean,
): Promise<boolean> {
  const { world, emulation, network } = open;
  if (mayBeInert) {
    const helpers = [cssMayUse, scriptsHaveEnded];
    const [, inert] = await world.callEach([step(loadEagerly), step(isInert)], limit('loading'), helpers);
    if (inert) return true;
  }
  const first = [step(untilFrames, 2), step(loadEagerly), step(findScroller), step(watchScrollEffects)] as const;
  await world.callEach(first, limit('frames'), [everyElement, ...scrollerHelpers]);
  // Scrolls to the end and back, for lists that grow there and for scroll effects of scripts.
  await scrollPage(open, paperScrollSteps);
  await freezeScrollEffects(open);
  const unrolled = [step(findScroller), step(unrollScroller), step(measurePage)] as const;
  const [, , { height, viewHeight }] = await world.callEach(unrolled, limit('measuring'), [
    everyElement,
    ...scrollerHelpers,
  ]);
  if (height <= viewHeight) return false;
  await emulation.grow(Math.min(height, maxViewHeight));
  await world.callEach([step(untilFrames, 2), step(announceScroll)], limit('frames'));
  const revealing = { timeoutMs: revealTimeoutMs + callTimeoutMs, what: 'what comes in step by step' };
  const steps = [
    step(waitForReveals, revealTimeoutMs, nextRevealMs, !isRequesting(network)),
    step(rememberRevealed),
  ] as const;
  await world.callEach(steps, revealing, [finishAnimations, cssMayUse, mayChangeWithin]);
  await emulation.grow(paper.height);
  await world.call(untilFrames, [1], limit('frames'));
  return false;
}

/** Answers consent dialogs and hides leftovers of blocked content. A second call is much faster. */
async function hideBlocked(
  { deadline }: OpenPage,
  blocking: BlockingSession,
  softTimeouts: SoftTimeout[],
): Promise<void> {
  try {
    const hiding = blocking.hideBlockedLeftovers(Date.now() + Math.min(hideBlockedTimeoutMs, deadline.remainingMs));
    await deadline.run(hiding, hideBlockedTimeoutMs + callTimeoutMs, 'tidying the page');
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    softTimeouts.push('settle');
  }
}

/** Maximum wait for frames, because some load without end. */
const maxFramesMs = 2500;
/** Time in which a new document sends its first requests. */
const askMs = 50;

/** Tracks the requests of a page's frames since construction. Many frames are of other sites, so their documents cannot be read. */
class FrameContent {
  readonly #requests: LoadingRequests;
  readonly #open: OpenPage;

  constructor(open: OpenPage) {
    this.#open = open;
    this.#requests = new LoadingRequests(open.page, isOfFrame);
    open.onRelease(() => this.#requests.stop());
  }

  /**
   * Waits until the requests have ended. Returns immediately if there were none.
   *
   * @returns whether they ended within `timeoutMs`
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
