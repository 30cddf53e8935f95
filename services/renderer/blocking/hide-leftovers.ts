import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import type { Blocker } from './blocker.ts';
import { cosmeticStyles } from './cosmetic-styles.ts';
import type { ListKind } from './filter-set.ts';
import { applyHiding } from './in-page/apply-hiding.ts';
import { collectFeatures } from './in-page/collect-features.ts';
import { hideBanners } from './in-page/hide-banners.ts';
import { callInFrame, type FrameWorld } from './isolated-world.ts';

/** How long one script may take in one frame. */
const scriptMs = 1500;

/**
 * Hides in one frame what the lists hide, what is left of blocked images and, for cookieBanners, whatever looks like a
 * consent banner. Resolves to the number of consent banners that went. Rejects when the frame is gone or too busy.
 */
export async function hideLeftovers(
  frame: FrameWorld,
  block: RenderOptions['block'],
  options: {
    readonly blocker: Blocker;
    /** Addresses of blocked images. */
    readonly images: readonly string[];
    /** When to stop, by `performance.now()`. */
    readonly until: number;
  },
): Promise<number> {
  const { engines } = options.blocker;
  const left = () => Math.max(1, Math.min(scriptMs, options.until - performance.now()));

  const features = await callInFrame(frame, collectFeatures, [], left());
  const styles: Record<string, string> = {};
  const add = (kind: ListKind) => {
    const text = cosmeticStyles(engines[kind], features);
    if (text !== '') styles[kind] = text;
  };
  if (block.ads) add('ads');
  if (block.trackers) add('trackers');
  if (block.cookieBanners) {
    add('cookies');
    styles['dialogs'] = features.dialogs.map((selector) => `${selector} {display: none !important}`).join('\n');
  }
  const removed = await callInFrame(frame, applyHiding, [styles, options.images], left());
  if (!block.cookieBanners) return 0;
  const banners = await callInFrame(frame, hideBanners, [], left());
  return banners + (removed['cookies'] ?? 0) + (removed['dialogs'] ?? 0);
}
