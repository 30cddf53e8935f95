import type { Page } from 'playwright';
import sharp from 'sharp';

/** The time for which a person looks at each position, in milliseconds. */
const lookMs = 400;
/** Height of a step as a share of the viewport. With half a viewport, content that appears at the edge is captured in the middle. */
const stepShare = 0.5;
/** The height to which endless pages are scrolled, in CSS pixels. */
const maxHeight = 20_000;

/** The combined picture of what a person has seen of a page. */
export interface SlowScroll {
  readonly png: Buffer;
  readonly height: number;
  /** The boxes of fixed elements in the viewport at each position, in pixels of the picture. */
  readonly fixed: readonly {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  }[];
}

/**
 * Scrolls through a page slowly, as a person does, and combines the middle of the viewport at each position. The result is the reference
 * for a capture of the whole page.
 */
export async function scrollSlowly(page: Page): Promise<SlowScroll> {
  const { width, height: viewHeight } = page.viewportSize() ?? { width: 1280, height: 720 };
  const step = Math.floor(viewHeight * stepShare);
  // The page is scrolled to its end and back first, so that lists and lazy images have their final height.
  for (let y = 0; y < (await heightOf(page)); y += step) {
    await scrollTo(page, y);
    await page.waitForTimeout(lookMs / 3);
  }
  await scrollTo(page, 0);
  await page.waitForTimeout(lookMs);

  const height = await heightOf(page);
  const strips: { readonly input: Buffer; readonly left: number; readonly top: number }[] = [];
  const fixed: { x: number; y: number; width: number; height: number }[] = [];
  for (let top = 0; top < height; top += step) {
    const at = await scrollTo(page, Math.max(0, Math.min(top - (viewHeight - step) / 2, height - viewHeight)));
    await page.waitForTimeout(lookMs);
    const shot = await page.screenshot({ timeout: 10_000 });
    const from = Math.max(0, Math.min(viewHeight - 1, Math.round(top - at)));
    const tall = Math.min(step, height - top, viewHeight - from);
    const strip = await sharp(shot).extract({ left: 0, top: from, width, height: tall }).png().toBuffer();
    strips.push({ input: strip, left: 0, top });
    fixed.push(...(await fixedBoxes(page)).map((box) => ({ ...box, y: box.y + at })));
  }
  const empty = sharp({ create: { width, height, channels: 3, background: '#ffffff' } });
  return { png: await empty.composite(strips).png({ compressionLevel: 3 }).toBuffer(), height, fixed };
}

function heightOf(page: Page): Promise<number> {
  return page.evaluate((most) => {
    const root = document.scrollingElement ?? document.documentElement;
    const isLocked = [document.documentElement, document.body].some(
      (element) => element !== null && getComputedStyle(element).overflowY === 'hidden',
    );
    return Math.min(most, isLocked ? innerHeight : Math.max(root.scrollHeight, innerHeight));
  }, maxHeight);
}

/** Returns the scroll position of the page. */
function scrollTo(page: Page, y: number): Promise<number> {
  return page.evaluate((top) => {
    document.scrollingElement?.scrollTo({ top, behavior: 'instant' });
    return document.scrollingElement?.scrollTop ?? 0;
  }, y);
}

function fixedBoxes(page: Page): Promise<{ x: number; y: number; width: number; height: number }[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter(
        (element) => ['fixed', 'sticky'].includes(getComputedStyle(element).position) && element.checkVisibility(),
      )
      .map((element) => element.getBoundingClientRect())
      .filter(({ width, height }) => width > 0 && height > 0 && height < innerHeight * 0.9)
      .map(({ x, y, width, height }) => ({ x, y, width, height })),
  );
}
