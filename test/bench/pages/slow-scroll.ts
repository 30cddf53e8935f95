import type { Page } from 'playwright';
import sharp from 'sharp';

/** A person takes a look at each place before going on, in milliseconds. */
const lookMs = 400;
/** Half a viewport at a time: what comes into sight at the edge is shown from its middle. */
const stepShare = 0.5;
/** Pages that grow without end are followed so far, in CSS pixels. */
const maxHeight = 20_000;

/** What a person has seen of a page, put together. */
export interface SlowScroll {
  readonly png: Buffer;
  readonly height: number;
  /** The areas that fixed elements took up in the viewport at each station, in pixels of the picture. */
  readonly fixed: readonly {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  }[];
}

/**
 * Looks at a page as a person does who scrolls slowly, and puts together what was in the middle of the viewport at each
 * place: what a capture of the whole page is held against.
 */
export async function scrollSlowly(page: Page): Promise<SlowScroll> {
  const { width, height: viewHeight } = page.viewportSize() ?? { width: 1280, height: 720 };
  const step = Math.floor(viewHeight * stepShare);
  // To the end and back once, so that lists and lazy images are as tall as they become.
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

/** @returns where the page is then */
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
