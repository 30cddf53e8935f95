import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { CDPSession } from 'playwright-core';
import type { Lifeline } from './lifeline.ts';
import type { Size } from '../browser/stealth-provider.ts';
import { windowSize } from '../browser/switches.ts';

/** The page itself answers, and its scripts may never pause. */
const resizeMs = 5000;

export type Viewport = RenderOptions['viewport'];

/** What a page is seen in: its viewport, and the window and screen around that. */
export class Metrics {
  readonly viewport: Viewport;
  readonly #cdp: CDPSession;
  readonly #lifeline: Lifeline;
  readonly #window: { readonly screen: Size; readonly outer: Size } | undefined;
  #width: number;

  /** @param window around the viewport; without one there is nothing around it */
  constructor(
    { cdp, lifeline }: { readonly cdp: CDPSession; readonly lifeline: Lifeline },
    viewport: Viewport,
    window?: { readonly screen: Size; readonly outer: Size },
  ) {
    this.#cdp = cdp;
    this.#lifeline = lifeline;
    this.viewport = viewport;
    this.#width = viewport.width;
    this.#window = window;
  }

  /** The width that the page is laid out in, in CSS pixels. */
  get width(): number {
    return this.#width;
  }

  /** Shows the page in the viewport; a warm page has the default one already. */
  async apply(): Promise<void> {
    const { width, height, deviceScaleFactor } = this.viewport;
    if (this.#window) {
      const { windowId } = await this.#cdp.send('Browser.getWindowForTarget');
      await this.#cdp.send('Browser.setWindowBounds', { windowId, bounds: this.#window.outer });
    } else if (width === windowSize.width && height === windowSize.height && deviceScaleFactor === 1) {
      return;
    }
    await this.#override(this.viewport, false);
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

  /** Lays the page out in another width from now on, in the height of the viewport. */
  async layOutIn(width: number): Promise<void> {
    this.#width = width;
    await this.grow(this.viewport.height);
  }

  async #override({ width, height }: Size, dontSetVisibleSize: boolean): Promise<void> {
    const { deviceScaleFactor } = this.viewport;
    const screen = this.#window?.screen ?? this.viewport;
    const resized = this.#cdp.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor,
      mobile: false,
      screenWidth: screen.width,
      screenHeight: screen.height,
      dontSetVisibleSize,
    });
    await this.#lifeline.run(resized, resizeMs, 'resizing');
  }
}
