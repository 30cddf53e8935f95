import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DeadlineError, onAbort } from '@webcapture/shared/runtime/deadline.ts';
import type { Browsers } from '../browser/browsers.ts';
import { BrowserLostError, type CapturePage, type PageSession } from '../browser/page.ts';
import type { Size } from '../browser/stealth.ts';
import { windowSize } from '../browser/switches.ts';
import type { CaptureDeadline } from './deadline.ts';
import { PageFrames } from './frames.ts';
import { MainDocument } from './main-document.ts';
import { watchFirstContent } from './scripts/content.ts';
import { readLayoutWidth } from './scripts/measures.ts';
import { interceptResizes, stayInWindow } from './scripts/neutrality.ts';
import { watchNetwork, type NetworkWatch } from './network.ts';
import { mayReusePage, type ReusableRequest } from './reuse.ts';
import { PageWorld } from './world.ts';

/** A page of one capture, with all that its steps work with. */
export interface OpenPage extends Pick<
  CapturePage,
  'page' | 'cdp' | 'hasOwnSession' | 'proxySession' | 'frameId' | 'answerLogins' | 'undoLater'
> {
  readonly deadline: CaptureDeadline;
  readonly document: MainDocument;
  readonly world: PageWorld;
  readonly emulation: ViewportEmulation;
  readonly network: NetworkWatch;
  readonly frames: PageFrames;
  /** Whether the browser answers, within a second. */
  responds(): Promise<boolean>;
  /** Runs when the capture is over. */
  onRelease(cleanUp: () => void): void;
  /** Closes the page; never throws. */
  release(end?: Parameters<CapturePage['release']>[0]): Promise<void>;
}

const acquireTimeoutMs = 60_000;
const setUpTimeoutMs = 10_000;

/**
 * Takes a page and sets what it is seen with: viewport, scale, colour scheme. On a warm page that takes a few
 * milliseconds, so that any size can be served from the same pool.
 *
 * @throws ServiceError CAPTURE_FAILED when there is no browser
 */
export async function openPage(
  { browsers, answerTimeoutMs }: { readonly browsers: Browsers; readonly answerTimeoutMs?: number | undefined },
  request: ReusableRequest & { readonly ownBrowser: boolean; readonly reuseFor?: string },
  deadline: CaptureDeadline,
): Promise<OpenPage> {
  const { options, ownBrowser } = request;
  const { antiBot } = options;
  const reuseFor = mayReusePage(request) ? request.reuseFor : undefined;
  const acquiring = browsers.acquire({ antiBot, ownBrowser, reuseFor });
  const acquired = await deadline.run(acquiring, acquireTimeoutMs, 'opening a page').catch((error: unknown) => {
    // It may still come: then nobody wants it.
    void acquiring.then((late) => late.release()).catch(() => undefined);
    if (error instanceof BrowserLostError) throw browserLost(error);
    throw error;
  });
  const { page, cdp, hasOwnSession, proxySession, frameId, answerLogins, undoLater } = acquired;
  const world = new PageWorld(cdp, frameId, deadline, answerTimeoutMs);
  const document = new MainDocument(page, () => world.reset());
  const network = watchNetwork(page, proxySession, cdp);
  const frames = new PageFrames(page, cdp, frameId, world, deadline);
  const cleanUps = [watch(acquired, deadline), () => document.stop(), () => network.stop(), () => frames.stop()];
  const emulation = new ViewportEmulation({ cdp, deadline }, options, windowOf(options, browsers));
  const open: OpenPage = {
    page,
    cdp,
    hasOwnSession,
    proxySession,
    frameId,
    answerLogins,
    undoLater,
    deadline,
    document,
    world,
    emulation,
    network,
    frames,
    responds: acquired.responds,
    onRelease: (cleanUp) => void cleanUps.push(cleanUp),
    release: (end) => {
      for (const cleanUp of cleanUps) cleanUp();
      return acquired.release(end);
    },
  };
  try {
    await deadline.run(
      Promise.all([
        emulation.apply(),
        emulateFeatures(open, options),
        // The viewport is going to grow.
        options.isFullPage ? world.runFirst(interceptResizes, []) : undefined,
        options.waitUntil === 'load' ? world.runFirst(watchFirstContent, []) : undefined,
        // Without a user gesture, the browser allows neither full screen nor picture-in-picture.
        options.click ? world.runFirst(stayInWindow, []) : undefined,
      ]),
      setUpTimeoutMs,
      'setting up the page',
    );
    return open;
  } catch (error) {
    // Nobody waits for what does not answer.
    void open.release();
    // It has been nowhere yet, and what hinders it is none of its own doing.
    if (error instanceof DeadlineError) throw browserLost(new BrowserLostError('the new page does not respond'));
    throw error;
  }
}

/** What is around the viewport; nothing, unless somebody looks for it. A phone shows its page on the whole of its screen. */
function windowOf(options: RenderOptions, { stealth }: Browsers): Window | undefined {
  const { antiBot, viewport, isMobile, screen = viewport } = options;
  if (antiBot && isMobile !== true) return stealth.window(viewport);
  if (options.screen === undefined) return undefined;
  const { width, height } = viewport;
  return {
    screen: { width: Math.max(screen.width, width), height: Math.max(screen.height, height) },
    outer: antiBot ? { width, height } : undefined,
  };
}

/** What style sheets ask about; a fresh page is light and in motion already. */
async function emulateFeatures(
  { page, undoLater }: OpenPage,
  { colorScheme, reducedMotion }: RenderOptions,
): Promise<void> {
  const features = {
    ...(colorScheme === 'light' ? {} : { colorScheme }),
    ...(reducedMotion === true ? { reducedMotion: 'reduce' as const } : {}),
  };
  if (Object.keys(features).length === 0) return;
  undoLater(() => page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' }));
  await page.emulateMedia(features);
}

/** Ends the capture when its page dies, or takes too much. */
function watch({ page, exceeded }: CapturePage, deadline: CaptureDeadline): () => void {
  const unusedUrl = page.url();
  const onCrash = () => {
    // One that has been nowhere yet died of something else than what it was to show.
    const isUnused = page.url() === unusedUrl;
    const failure = new ServiceError('CAPTURE_FAILED', 'The page crashed, or took more memory than a page may.', {
      causedBy: 'page',
    });
    deadline.abort(isUnused ? browserLost(new BrowserLostError('an unused page crashed')) : failure);
  };
  // It cannot close itself, and hears of the end of its browser before the browser's own object does.
  const onClose = () => deadline.abort(browserLost(new BrowserLostError()));
  page.on('crash', onCrash).on('close', onClose);
  const stopListening = onAbort(exceeded, () => deadline.abort(exceeded.reason as ServiceError));
  return () => {
    page.off('crash', onCrash).off('close', onClose);
    stopListening();
  };
}

function browserLost(cause: BrowserLostError): ServiceError {
  return new ServiceError('CAPTURE_FAILED', 'The browser ended during the capture. Send the request again.', {
    causedBy: 'service',
    cause,
  });
}

/** The page itself answers, and its scripts may never pause. */
const resizeTimeoutMs = 5000;
/** Of a page that nobody sees drawn: paper is printed, whatever was drawn before. */
const undrawnSize = { width: 16, height: 16 };

type Viewport = RenderOptions['viewport'];

/** In CSS pixels. */
interface Window {
  readonly screen: Size;
  /** Undefined: as it is. */
  readonly outer: Size | undefined;
}

/** What a page is seen in: its viewport, and the window and screen around that. */
class ViewportEmulation {
  readonly #cdp: PageSession;
  readonly #deadline: CaptureDeadline;
  readonly #asked: Viewport;
  readonly #window: Window | undefined;
  /** Whether what the page draws is ever seen. */
  readonly #isDrawn: boolean;
  readonly #isMobile: boolean;
  readonly #antiBot: boolean;
  #viewport: Viewport;
  #emulatesMobile: boolean;
  #width: number;

  /** @param window around the viewport; without one there is nothing around it */
  constructor(
    { cdp, deadline }: { readonly cdp: PageSession; readonly deadline: CaptureDeadline },
    { viewport, isMobile, format, antiBot }: Pick<RenderOptions, 'viewport' | 'isMobile' | 'format' | 'antiBot'>,
    window?: Window,
  ) {
    this.#cdp = cdp;
    this.#deadline = deadline;
    this.#asked = viewport;
    this.#window = window;
    // With antiBot, the window is that of a person.
    this.#isDrawn = format !== 'pdf' || antiBot;
    this.#antiBot = antiBot;
    // Paper has a layout of its own.
    this.#isMobile = isMobile === true && format !== 'pdf';
    this.#viewport = viewport;
    this.#emulatesMobile = this.#isMobile;
    this.#width = viewport.width;
  }

  /** As asked for, or after {@link flatten} as the page has it. */
  get viewport(): Viewport {
    return this.#viewport;
  }

  /** The width that the page is laid out in, in CSS pixels. */
  get width(): number {
    return this.#width;
  }

  /** Whether pages decide by their viewport meta tag in which width they are laid out. */
  get isMobile(): boolean {
    return this.#emulatesMobile;
  }

  /** Shows the page in the viewport; a warm page has the default one already. */
  async apply(): Promise<void> {
    const { width, height, deviceScaleFactor } = this.#viewport;
    if (!this.#isDrawn) {
      const hidden = this.#cdp.send('Emulation.setVisibleSize', undrawnSize);
      await Promise.all([
        this.#override(this.#viewport, true),
        this.#deadline.run(hidden, resizeTimeoutMs, 'resizing'),
      ]);
      return;
    }
    if (this.#window?.outer) {
      const { windowId } = await this.#cdp.send('Browser.getWindowForTarget');
      await this.#cdp.send('Browser.setWindowBounds', { windowId, bounds: this.#window.outer });
    } else if (
      !this.#window &&
      !this.#isMobile &&
      width === windowSize.width &&
      height === windowSize.height &&
      deviceScaleFactor === 1
    ) {
      return;
    }
    await this.#override(this.#viewport, false);
  }

  /**
   * Shows a page that was loaded as on a phone in a window as wide as the phone has laid it out, at the scale that fits it onto the
   * phone: its picture stays the same, but it can be measured and grow like any other page.
   */
  async flatten(layoutWidth: number): Promise<void> {
    const { width, height, deviceScaleFactor } = this.#asked;
    const zoom = width / layoutWidth;
    this.#emulatesMobile = false;
    this.#width = layoutWidth;
    this.#viewport = {
      width: layoutWidth,
      height: Math.max(1, Math.round(height / zoom)),
      deviceScaleFactor: deviceScaleFactor * zoom,
    };
    await this.#override(this.#viewport, false);
  }

  /** Undoes {@link flatten}, for the next page: it may be laid out in another width. */
  async unflatten(): Promise<void> {
    if (this.#emulatesMobile === this.#isMobile) return;
    this.#emulatesMobile = this.#isMobile;
    this.#viewport = this.#asked;
    this.#width = this.#asked.width;
    await this.#override(this.#viewport, false);
  }

  /**
   * Lays the page out in a viewport of another height, while the surface that it is drawn on stays as it is: the page
   * sees a taller window, with all of it in sight, but memory does not grow with it.
   *
   * @throws DeadlineError when the page does not answer
   */
  async grow(height: number): Promise<void> {
    await this.#override({ width: this.#width, height }, true);
  }

  /** Lays the page out in another width from now on, by default in the height of the viewport. */
  async layOutIn(width: number, height = this.#viewport.height): Promise<void> {
    this.#width = width;
    await this.grow(height);
  }

  async #override({ width, height }: Size, dontSetVisibleSize: boolean): Promise<void> {
    const { deviceScaleFactor } = this.#viewport;
    const screen = this.#window?.screen ?? this.#asked;
    const resized = this.#cdp.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor,
      mobile: this.#emulatesMobile,
      screenWidth: screen.width,
      screenHeight: screen.height,
      ...(this.#isMobile ? { screenOrientation: orientationOf(screen) } : {}),
      dontSetVisibleSize,
      // The full browser refuses to lock the orientation of a desktop's screen, as it does for people.
      ...(this.#antiBot ? {} : { screenOrientationLockEmulation: true }),
    });
    await this.#deadline.run(resized, resizeTimeoutMs, 'resizing');
  }
}

function orientationOf({ width, height }: Size) {
  return width > height
    ? ({ angle: 90, type: 'landscapePrimary' } as const)
    : ({ angle: 0, type: 'portraitPrimary' } as const);
}

const layoutTimeoutMs = 3000;
/** Phones enlarge a page no more than this, however narrow it says that it is. */
const maxZoom = 5;

/** Has a page that was loaded as on a phone laid out as it now is, for all that follows. Others stay as they are. */
export async function keepMobileLayout({ world, emulation }: OpenPage): Promise<void> {
  if (!emulation.isMobile) return;
  const limit = { timeoutMs: layoutTimeoutMs, what: 'measuring' };
  const width = await world.call(readLayoutWidth, [], limit).catch((error: unknown) => {
    // It does not answer: the width of the phone is that of most pages.
    if (error instanceof DeadlineError) return emulation.viewport.width;
    throw error;
  });
  await emulation.flatten(Math.max(width, Math.ceil(emulation.viewport.width / maxZoom)));
}

/** The options with the viewport that the page has now, which for a page that was loaded as on a phone is another one. */
export const asLaidOut = ({ emulation }: OpenPage, options: RenderOptions): RenderOptions =>
  emulation.viewport === options.viewport ? options : { ...options, viewport: emulation.viewport };

const stopTimeoutMs = 3000;

/**
 * Ends the scripts of a page, for good, and its loading: one that was busy, or waited for what does not come, can then be
 * drawn as it stands. These commands are among the few that reach a page between two steps of its loop.
 *
 * @throws DeadlineError when the page does not answer even so
 */
export async function stopPage({ cdp, deadline }: OpenPage): Promise<void> {
  const stopped = Promise.all([
    cdp.send('Emulation.setScriptExecutionDisabled', { value: true }),
    cdp.send('Runtime.terminateExecution'),
    cdp.send('Page.stopLoading'),
  ]);
  await deadline.run(stopped, stopTimeoutMs, 'stopping the page');
}
