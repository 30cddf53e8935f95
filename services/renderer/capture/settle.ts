import type { CaptureReport, SoftTimeout } from '@webcapture/shared/contract/capture-result.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { BlockingSession } from './block.ts';
import { FrameContent } from './frame-content.ts';
import { announceScroll } from './in-page/announce-scroll.ts';
import { finishAnimations } from './in-page/finish-animations.ts';
import { hasPainted } from './in-page/has-painted.ts';
import { loadEagerly } from './in-page/load-eagerly.ts';
import { measurePage } from './in-page/measure-page.ts';
import { nextFrame } from './in-page/next-frame.ts';
import { nextTask } from './in-page/next-task.ts';
import { waitForAssets } from './in-page/wait-for-assets.ts';
import { waitForCanvases } from './in-page/wait-for-canvases.ts';
import { waitForRest } from './in-page/wait-for-rest.ts';
import type { OpenPage } from './open.ts';
import { layOutForPrint } from './pdf.ts';
import { scrollPage } from './scroll-page.ts';
import { fitWholePage, showWholePage, type WholePage } from './whole-page.ts';

/** What a page has come to. */
export interface Settled {
  readonly images: CaptureReport['images'];
  readonly softTimeouts: readonly SoftTimeout[];
  /** With isFullPage, for images. */
  readonly whole: WholePage | undefined;
}

/** Browsers show text in another font after 3 s without its own. */
const fontMs = 3200;
/** Scripts that fade in, or count up, take no longer. */
const restMs = 1500;
/** Charts take a second to draw themselves in. */
const canvasMs = 1500;
/** An app fetches what it shows once it has loaded; what never ends, like a poll, is no part of it. */
const fetchMs = 1500;
const callMs = 5000;
/** Of the viewport that everything is brought into sight in; CSS pixels. */
const tallestView = 60_000;
/** For consent dialogs to be answered, among other things. */
const tidyMs = 8000;

/**
 * Waits for what the capture asked to wait for (`delay`, images, fonts), and brings the page into the shape to be taken.
 *
 * @param from `blocking` when something is blocked; `loaded` when the page got as far as it was to get in time
 * @throws ServiceError PAGE_TOO_LARGE
 */
export async function settle(
  open: OpenPage,
  options: RenderOptions,
  { blocking, loaded }: { readonly blocking: BlockingSession | undefined; readonly loaded: boolean },
): Promise<Settled> {
  const { world, lifeline } = open;
  const softTimeouts: SoftTimeout[] = [];
  // The page may be busy with its own scripts, for ever: then this is the first to tell.
  const painted = world.call(hasPainted, [], { ms: callMs, what: 'the first answer' });
  painted.catch(() => undefined);
  // One that has drawn nothing waits for a stylesheet, and can be no picture: loading is stopped, and what has come so far
  // is drawn.
  if (!loaded && !(await painted)) await lifeline.run(open.cdp.send('Page.stopLoading'), callMs, 'stopping');
  if (loaded && options.waitUntil === 'load') await untilFetched(open);
  if (options.delay > 0) await lifeline.run(delay(options.delay), options.delay + callMs, 'the delay');
  if (blocking) await tidy(open, blocking, softTimeouts);

  const paper = options.format === 'pdf';
  if (paper && options.isFullPage) await layOutForPrint(open, options);
  const frames = new FrameContent(open);
  let whole = options.isFullPage ? await showWholePage(open, options) : undefined;
  if (paper && !whole) await bringAll(open);

  const scope = whole || paper ? 'all' : 'visible';
  const assetsMs = Math.max(options.imageTimeout, fontMs);
  if (whole) await world.call(waitForRest, [restMs], { ms: restMs + callMs, what: 'animations' });
  const [{ fontsPending, ...images }, , framesThere] = await Promise.all([
    world.call(waitForAssets, [scope, options.imageTimeout, fontMs], { ms: assetsMs + callMs, what: 'images' }),
    world.call(waitForCanvases, [canvasMs], { ms: canvasMs + callMs, what: 'canvases' }),
    whole ? frames.there(options.imageTimeout) : true,
    painted,
  ]);
  if ((images.pending > 0 || !framesThere) && options.imageTimeout > 0) softTimeouts.push('images');
  if (fontsPending) softTimeouts.push('fonts');

  if (blocking) await tidy(open, blocking, softTimeouts);
  const finished = await world.call(finishAnimations, [], { ms: callMs, what: 'finishing animations' });
  // What the page does at the end of an animation is to be seen. (The shot itself draws the page as it is.)
  if (finished > 0) await world.call(nextFrame, [2], { ms: callMs, what: 'a frame' });
  if (whole) whole = await fitWholePage(open, whole, options);
  return { images, softTimeouts, whole };
}

/** Waits for what the page's scripts are asking the server for, and for the page to show it, which may ask for more. */
async function untilFetched({ network, world, lifeline }: OpenPage): Promise<void> {
  const end = performance.now() + fetchMs;
  await world.call(nextTask, [], { ms: callMs, what: 'a turn of the page' });
  while (network.isFetching) {
    const left = Math.max(0, end - performance.now());
    if (!(await lifeline.run(network.untilFetched(left), left + callMs, 'what the page fetches'))) return;
    await world.call(nextFrame, [2], { ms: callMs, what: 'a frame' });
  }
}

/** Paper shows everything, so that everything has to be there: it is for a moment in a viewport as tall as the page. */
async function bringAll(open: OpenPage): Promise<void> {
  const { world, metrics } = open;
  const limit = (what: string) => ({ ms: callMs, what });
  await world.call(loadEagerly, [], limit('loading'));
  // To the end and back, for lists that grow there.
  await scrollPage(open, 1);
  const { height, viewHeight } = await world.call(measurePage, [], limit('measuring'));
  if (height <= viewHeight) return;
  await metrics.grow(Math.min(height, tallestView));
  await world.call(nextFrame, [2], limit('a frame'));
  await world.call(announceScroll, [], limit('scrolling'));
  await metrics.grow(metrics.viewport.height);
  await world.call(nextFrame, [1], limit('a frame'));
}

/** Answers consent dialogs and hides what is left of blocked things; much quicker the second time. */
async function tidy({ lifeline }: OpenPage, blocking: BlockingSession, softTimeouts: SoftTimeout[]): Promise<void> {
  try {
    const tidied = blocking.beforeShoot(Date.now() + Math.min(tidyMs, lifeline.remainingMs));
    await lifeline.run(tidied, tidyMs + callMs, 'tidying the page');
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    if (!softTimeouts.includes('settle')) softTimeouts.push('settle');
  }
}
