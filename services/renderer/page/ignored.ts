import type { PictureArea } from '@webcapture/shared/captures/capture-record.ts';
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { maxIgnoredAreas } from '@webcapture/shared/queue/outcomes.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { DocumentGoneError } from '../browser/isolated-world.ts';
import { callTimeoutMs } from './deadline.ts';
import { refusedSelector } from './miss.ts';
import type { OpenPage } from './open.ts';
import { boxing } from './scripts/boxes.ts';
import { measureIgnored } from './scripts/ignored.ts';
import { measurePage } from './scripts/measures.ts';
import { selecting } from './scripts/selecting.ts';
import type { Settled } from './settle.ts';

const helpers = [...selecting, ...boxing, measurePage];

/**
 * Returns the areas of the picture with elements that are not compared, in CSS pixels of the picture. Returns none if the page does not
 * respond.
 *
 * @param selectors `persistence.compare.ignore`
 * @throws ServiceError CAPTURE_FAILED that names a selector which the browser does not support
 */
export async function findIgnored(
  { world, emulation }: OpenPage,
  selectors: readonly string[],
  { fullPage, region }: Pick<Settled, 'fullPage' | 'region'>,
): Promise<PictureArea[]> {
  const limit = { timeoutMs: callTimeoutMs, what: 'the ignored elements' };
  const parsed = selectors.map(parseSelector);
  const found = await world.call(measureIgnored, [parsed, maxIgnoredAreas], limit, helpers).catch((error: unknown) => {
    if (error instanceof DeadlineError || error instanceof DocumentGoneError) return null;
    throw error;
  });
  if (found === null) return [];
  if (typeof found === 'number') {
    throw refusedSelector(`persistence.compare.ignore ${JSON.stringify(selectors[found])}`);
  }
  const { width, height } = region ?? { ...emulation.viewport, ...(fullPage && { height: fullPage.height }) };
  const start = region ?? (fullPage ? { x: fullPage.left, y: 0 } : found);
  const [dx, dy] = [found.x - start.x, found.y - start.y];
  return found.boxes.flatMap((box) => {
    const [left, top] = [Math.max(0, Math.floor(box.x + dx)), Math.max(0, Math.floor(box.y + dy))];
    const right = Math.min(Math.ceil(width), Math.ceil(box.x + box.width + dx));
    const bottom = Math.min(Math.ceil(height), Math.ceil(box.y + box.height + dy));
    return right > left && bottom > top ? [{ x: left, y: top, width: right - left, height: bottom - top }] : [];
  });
}
