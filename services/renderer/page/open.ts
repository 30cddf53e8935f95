import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { isImageFormat } from '@webcapture/shared/api/formats.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { DeadlineError, onAbort } from '@webcapture/shared/runtime/deadline.ts';
import type { Browsers } from '../browser/browsers.ts';
import type { PageSession } from '../browser/driver.ts';
import { BrowserLostError, type CapturePage, stopActivity } from '../browser/page.ts';
import { RequestInterceptor } from '../browser/request-interceptor.ts';
import type { Size } from '../browser/stealth.ts';
import { windowSize } from '../browser/switches.ts';
import { TargetTree } from '../browser/target-tree.ts';
import { callTimeoutMs, type CaptureDeadline, lastCallTimeoutMs } from './deadline.ts';
import { PageFrames } from './frames.ts';
import { MainDocument } from './main-document.ts';
import { watchFirstContent } from './scripts/content.ts';
import { readLayoutWidth } from './scripts/measures.ts';
import { keepDrawings } from './scripts/print.ts';
import { interceptResizes, stayInWindow } from './scripts/resizes-and-panes.ts';
import { watchNetwork, type NetworkWatch } from './network.ts';
import { mayReusePage, type ReusableRequest } from './reuse.ts';
import { PageWorld } from './world.ts';

/** The page of one capture, with everything that the capture's steps need. */
export interface OpenPage extends Pick<
  CapturePage,
  'page' | 'cdp' | 'hasOwnSession' | 'proxySession' | 'frameId' | 'answerLogins' | 'undoLater'
> {
  readonly deadline: CaptureDeadline;
  readonly document: MainDocument;
  readonly world: PageWorld;
  readonly emulation: ViewportEmulation;
  readonly network: NetworkWatch;
  /** Maximum memory of the page's process. */
  readonly pageBytes: number;
  readonly frames: PageFrames;
  /** The targets of the page, to which the options of the capture add steps. */
  readonly targets: TargetTree;
  readonly requests: RequestInterceptor;
  /** Whether the browser responds within a second. */
  responds(): Promise<boolean>;
  /** Registers a function that runs when the capture is over. */
  onRelease(cleanUp: () => void): void;
  /** Closes the page; never throws. */
  release(end?: Parameters<CapturePage['release']>[0]): Promise<void>;
}

const acquireTimeoutMs = 60_000;
const setUpTimeoutMs = 10_000;

/**
 * Takes a page from the pool and sets its viewport, scale and color scheme. On a warm page this takes a few milliseconds, so one pool
 * serves all viewport sizes.
 *
 * @throws ServiceError CAPTURE_FAILED if no browser is available
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
    // If the page arrives late, it is returned to the pool.
    void acquiring.then((late) => late.release()).catch(() => undefined);
    if (error instanceof BrowserLostError) throw browserLost(error);
    throw error;
  });
  const { page, cdp, hasOwnSession, proxySession, frameId, answerLogins, undoLater } = acquired;
  const world = new PageWorld(cdp, frameId, deadline, answerTimeoutMs);
  const document = new MainDocument(page, () => world.reset());
  const network = watchNetwork(page, proxySession, cdp);
  const targets = new TargetTree(page);
  undoLater(() => targets.detach());
  const requests = new RequestInterceptor(targets);
  const frames = new PageFrames({ page, cdp, frameId, world, targets, deadline });
  const cleanUps = [watch(acquired, deadline), () => document.stop(), () => network.stop()];
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
    pageBytes: browsers.pageBytes,
    frames,
    targets,
    requests,
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
        // This setting ends with the page, whose context serves no other capture. The cache and the connections belong to that context.
        options.ignoreTlsErrors === true
          ? cdp.send('Security.setIgnoreCertificateErrors', { ignore: true })
          : undefined,
        // The handlers are needed only if the viewport will grow.
        options.isFullPage ? world.runFirst(interceptResizes, []) : undefined,
        options.waitUntil === 'load' ? world.runFirst(watchFirstContent, []) : undefined,
        options.format === 'pdf' ? keepDrawnCanvases(open, options) : undefined,
        // Without a user gesture, the browser allows neither full screen nor picture-in-picture.
        options.click || options.steps ? world.runFirst(stayInWindow, []) : undefined,
      ]),
      setUpTimeoutMs,
      'setting up the page',
    );
    return open;
  } catch (error) {
    // The release is not awaited, because the browser may not respond.
    void open.release();
    // The page has not navigated yet, so it did not cause the failure.
    if (error instanceof DeadlineError) throw browserLost(new BrowserLostError('the new page does not respond'));
    throw error;
  }
}

/**
 * Makes canvases of WebGL keep their drawings, because a print reads them at any time. With antiBot, no function of the page is replaced,
 * because the page could detect the replacement.
 */
async function keepDrawnCanvases({ page, undoLater }: OpenPage, { antiBot }: RenderOptions): Promise<void> {
  if (antiBot) return;
  const script = await page.addInitScript({ content: `(${keepDrawings.toString()})()` });
  undoLater(() => script.dispose());
}

/** Returns the screen and window around the viewport, if the capture emulates them. On a phone, the page fills the screen. */
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

/** Emulates CSS media features. A fresh page already has the light scheme and animations. */
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

/** Emulates a media type, until the page serves another capture. @param what names the step in the message of a timeout */
export async function emulateMediaType(
  { page, deadline, undoLater }: OpenPage,
  media: NonNullable<RenderOptions['media']>,
  what: string,
): Promise<void> {
  undoLater(() => page.emulateMedia({ media: null }));
  await deadline.run(page.emulateMedia({ media }), callTimeoutMs, what);
}

/** Ends the capture if its page crashes or exceeds a resource limit. */
function watch({ page, exceeded }: CapturePage, deadline: CaptureDeadline): () => void {
  const unusedUrl = page.url();
  const onCrash = () => {
    // If the page has not navigated yet, it did not crash because of its content.
    const isUnused = page.url() === unusedUrl;
    const failure = new ServiceError('CAPTURE_FAILED', 'The page crashed or exceeded its memory limit.', {
      causedBy: 'page',
    });
    deadline.abort(isUnused ? browserLost(new BrowserLostError('an unused page crashed')) : failure);
  };
  // A page cannot close itself, so the browser has ended. Playwright's browser object reports that only after this event.
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

/** Timeout of a change of the viewport. The process of the page answers the command, and the page's scripts may never pause. */
const resizeTimeoutMs = 5000;
/** Visible size of a page that is only printed or read. It is small, because the pixels are never needed. */
const undrawnSize = { width: 16, height: 16 };

type Viewport = RenderOptions['viewport'];

/** Sizes of a window, in CSS pixels. */
interface Window {
  readonly screen: Size;
  /** The outer size. If undefined, it is not emulated. */
  readonly outer: Size | undefined;
}

/** The viewport of a page, and the window and screen around it. */
class ViewportEmulation {
  readonly #cdp: PageSession;
  readonly #deadline: CaptureDeadline;
  readonly #asked: Viewport;
  readonly #window: Window | undefined;
  /** Whether the capture uses what the page draws on screen. */
  readonly #isDrawn: boolean;
  readonly #isMobile: boolean;
  readonly #antiBot: boolean;
  #viewport: Viewport;
  #emulatesMobile: boolean;
  #width: number;

  /** @param window around the viewport; if undefined, no window is emulated */
  constructor(
    { cdp, deadline }: { readonly cdp: PageSession; readonly deadline: CaptureDeadline },
    { viewport, isMobile, format, antiBot }: Pick<RenderOptions, 'viewport' | 'isMobile' | 'format' | 'antiBot'>,
    window?: Window,
  ) {
    this.#cdp = cdp;
    this.#deadline = deadline;
    this.#asked = viewport;
    this.#window = window;
    // With antiBot, the window must look like that of a person, so the page counts as drawn.
    this.#isDrawn = isImageFormat(format) || antiBot;
    this.#antiBot = antiBot;
    // Printing ignores the mobile layout.
    this.#isMobile = isMobile === true && format !== 'pdf';
    this.#viewport = viewport;
    this.#emulatesMobile = this.#isMobile;
    this.#width = viewport.width;
  }

  /** The requested viewport, or the one that {@link useDesktopMetrics} has set. */
  get viewport(): Viewport {
    return this.#viewport;
  }

  /** The layout width of the page, in CSS pixels. */
  get width(): number {
    return this.#width;
  }

  /** Whether the viewport meta tag of the page sets its layout width. */
  get isMobile(): boolean {
    return this.#emulatesMobile;
  }

  /** Applies the viewport. The default one needs no command, because a warm page already has it. */
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
   * Shows a page that was loaded as on a phone in a desktop viewport as wide as its layout, scaled to the width of the phone. The picture
   * stays the same, but the page can be measured and grow like any other page.
   */
  async useDesktopMetrics(layoutWidth: number): Promise<void> {
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

  /** Undoes {@link useDesktopMetrics}, because the next document may have another layout width. */
  async useMobileMetrics(): Promise<void> {
    if (this.#emulatesMobile === this.#isMobile) return;
    this.#emulatesMobile = this.#isMobile;
    this.#viewport = this.#asked;
    this.#width = this.#asked.width;
    await this.#override(this.#viewport, false);
  }

  /**
   * Lays the page out in a viewport of another height, but keeps the size of the surface on which it is drawn. The page sees a taller
   * window with everything in view, and memory does not grow.
   *
   * @throws DeadlineError if the page does not respond
   */
  async grow(height: number): Promise<void> {
    await this.#override({ width: this.#width, height }, true);
  }

  /** Changes the layout width, and optionally the height. */
  async setLayoutWidth(width: number, height = this.#viewport.height): Promise<void> {
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
      // Full Chromium refuses to lock the orientation of a desktop screen. With antiBot, the page must see that behavior.
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
/** Maximum zoom of phones for a narrow page. */
const maxZoom = 5;

/** Freezes the layout of a page that was loaded as on a phone, for all following steps. Does nothing for other pages. */
export async function keepMobileLayout({ world, emulation }: OpenPage): Promise<void> {
  if (!emulation.isMobile) return;
  const limit = { timeoutMs: layoutTimeoutMs, what: 'measuring' };
  const width = await world.call(readLayoutWidth, [], limit).catch((error: unknown) => {
    // The page does not respond. It is probably as wide as the phone, as most pages are.
    if (error instanceof DeadlineError) return emulation.viewport.width;
    throw error;
  });
  await emulation.useDesktopMetrics(Math.max(width, Math.ceil(emulation.viewport.width / maxZoom)));
}

/** Returns the options with the current viewport of the page, which differs if the page was loaded as on a phone. */
export const asLaidOut = ({ emulation }: OpenPage, options: RenderOptions): RenderOptions =>
  emulation.viewport === options.viewport ? options : { ...options, viewport: emulation.viewport };

/**
 * Permanently stops the scripts and the loading of a page that is busy or still loading, so that its current state can be drawn.
 *
 * @throws DeadlineError if the page still does not respond
 */
export async function stopPage({ cdp, deadline, world }: OpenPage): Promise<void> {
  world.noteStop();
  await deadline.run(stopActivity(cdp), world.timeoutOf(lastCallTimeoutMs), 'stopping the page');
}
