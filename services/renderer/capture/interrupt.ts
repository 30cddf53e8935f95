import { countImages } from './in-page/count-images.ts';
import { measurePage } from './in-page/measure-page.ts';
import type { OpenPage } from './open.ts';
import { maxCssHeight } from './page-limits.ts';
import type { Settled } from './settle.ts';
import { stopPage } from './stop-page.ts';
import type { RenderOptions } from '@webcapture/shared/contract/render-options.ts';

const callMs = 3000;

/**
 * Stops a page that keeps itself busy for ever, with scripts, frames or new addresses: it can then be taken as it
 * stands.
 *
 * @throws DeadlineError when the page does not answer even so
 */
export async function interrupt(open: OpenPage, options: RenderOptions): Promise<Settled> {
  const { world, metrics } = open;
  await stopPage(open);
  // Nothing that waits runs in such a page any more, not even of ours.
  const { height: whole, left } = await world.callInAny(measurePage, [], { ms: callMs, what: 'measuring' });
  const images = await world.callInAny(countImages, [], { ms: callMs, what: 'counting images' });
  const height = Math.min(whole, maxCssHeight(options.format, options.viewport.deviceScaleFactor));
  if (options.isFullPage) await metrics.grow(height);
  return {
    images,
    softTimeouts: ['settle'],
    whole: options.isFullPage ? { height, left, truncated: true } : undefined,
  };
}
