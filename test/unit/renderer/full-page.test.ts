import { describe, expect, test } from 'vitest';
import { growToWholePage, refitHeight, type FullPage } from '../../../services/renderer/page/full-page.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';

const options = { ...defaultOptions, viewport: { width: 640, height: 480, deviceScaleFactor: 1 } };
const tooLarge = { code: 'PAGE_TOO_LARGE' };

/** Answers of `measurePage`. Each is given once, and the last one from then on. */
function measures(...heights: readonly number[]) {
  const left = [...heights];
  return () => ({ height: left.length > 1 ? left.shift() : left[0], viewHeight: 480, left: 3 });
}

/** A page of 2000 px that is scrolled to its end. */
const tall = {
  measurePage: measures(2000),
  findScroller: null,
  isLocked: false,
  shareOfScenes: 0,
  scrollThrough: { reachedEnd: true, height: 2000, scripted: true },
  countUnseen: 0,
};
/** A page that was still growing when scrolling stopped before its end. */
const growing = () => {
  let count = 0;
  return () => ({ reachedEnd: false, height: (count += 1) > 1 ? 2000 : 1000, scripted: true });
};

describe('growToWholePage', () => {
  const grown = { height: 2000, left: 3, truncated: false, mayGrow: false, strategy: 'grown', isLocked: false };

  test('lays a page that continues below the viewport out in a tall viewport', async () => {
    const page = new AnsweringPage(tall);
    expect(await growToWholePage(page.open, options)).toEqual(grown);
    const last = page.calls.slice(page.names.indexOf('holdScrollAnimations'));
    expect(last).toEqual([
      ['holdScrollAnimations'],
      ['hideResizes'],
      ['growScroller'],
      ['grow', 2000],
      ['untilFrames', 2],
      ['waitForIntersectionObservers', 150],
      ['announceScroll'],
      ['untilFrames', 2],
      ['finishAnimations'],
    ]);
    expect(page.calls).toContainEqual(['isLocked', 600, true]);
    const begun = ['loadEagerly', 'watchMotion', 'layOutAll', 'findScroller', 'measurePage', 'watchScrollEffects'];
    expect(page.names.filter((name) => begun.includes(name)).slice(0, 6)).toEqual(begun);
    expect(page.names).toContain('rememberPanes');
    expect(page.names).not.toContain('hasLargeForeignFrame');
  });

  test('measures the heights of frames only if a large frame is of another origin', async () => {
    for (const [isEmpty, isLarge, times] of [
      [false, true, 1],
      [false, false, 0],
      [true, true, 0],
    ] as const) {
      let noted = 0;
      const frames = { isEmpty, noteHeights: async () => void (noted += 1) };
      const page = new AnsweringPage({ ...tall, hasLargeForeignFrame: isLarge }, { frames });
      await growToWholePage(page.open, options);
      expect(noted).toBe(times);
    }
  });

  test('captures only the viewport of a page that blocks scrolling, unless a box scrolls or overlays are blocked', async () => {
    const locked = new AnsweringPage({ ...tall, isLocked: true });
    const single = { height: 480, left: 0, truncated: false, strategy: 'single', isLocked: true };
    expect(await growToWholePage(locked.open, options)).toEqual(single);
    expect(locked.names).not.toContain('scrollThrough');
    const scroller = new AnsweringPage({ ...tall, isLocked: true, findScroller: 0 });
    expect(await growToWholePage(scroller.open, options)).toEqual(grown);
    for (const option of ['cookieBanners', 'newsletters']) {
      const overlaid = new AnsweringPage({ ...tall, isLocked: true });
      const block = { ...options.block, [option]: true };
      expect(await growToWholePage(overlaid.open, { ...options, block })).toEqual(grown);
    }
  });

  test('leaves a page alone that fits the viewport after scrolling', async () => {
    const page = new AnsweringPage({ ...tall, measurePage: measures(480) });
    const single = { height: 480, left: 3, truncated: false, strategy: 'single', isLocked: false };
    expect(await growToWholePage(page.open, options)).toEqual(single);
    expect(page.names).not.toContain('grow');
    const still = new AnsweringPage({ ...tall, measurePage: measures(480), scrollThrough: growing() });
    expect(await growToWholePage(still.open, options)).toEqual({ ...single, truncated: true });
  });

  test('adds the content of boxes that scroll, also what scrolling has added to it', async () => {
    const heights = [100, 250];
    const page = new AnsweringPage({ ...tall, findScroller: () => heights.shift(), shareOfScenes: 1 });
    expect(await growToWholePage(page.open, options)).toEqual({ ...grown, height: 2250 });
    const gone = [100, null];
    const without = new AnsweringPage({ ...tall, findScroller: () => gone.shift() });
    expect(await growToWholePage(without.open, options)).toEqual(grown);
    const small = [100, 0];
    const fits = new AnsweringPage({ ...tall, measurePage: measures(480), findScroller: () => small.shift() });
    expect(await growToWholePage(fits.open, options)).toMatchObject({ strategy: 'single', height: 480 });
  });

  test('rejects a page that no picture can hold before it scrolls, and after it if the page does not grow', async () => {
    const before = new AnsweringPage({ ...tall, measurePage: measures(65_536) });
    await expect(growToWholePage(before.open, { ...options, format: 'jpeg' })).rejects.toMatchObject(tooLarge);
    expect(before.names).not.toContain('scrollThrough');
    const boxed = new AnsweringPage({ ...tall, measurePage: measures(65_000), findScroller: 1000 });
    await expect(growToWholePage(boxed.open, { ...options, format: 'jpeg' })).rejects.toMatchObject(tooLarge);
    expect(boxed.names).not.toContain('scrollThrough');
    const after = new AnsweringPage({ ...tall, measurePage: measures(2000, 100_000) });
    await expect(growToWholePage(after.open, { ...options, format: 'jpeg' })).rejects.toMatchObject(tooLarge);
    expect(after.names).not.toContain('grow');
    const sharp = { ...options.viewport, deviceScaleFactor: 2 };
    const scaled = new AnsweringPage({ ...tall, measurePage: measures(40_000) });
    const jpeg = { ...options, format: 'jpeg', viewport: sharp } as const;
    await expect(growToWholePage(scaled.open, jpeg)).rejects.toMatchObject(tooLarge);
    const later = new AnsweringPage({ ...tall, measurePage: measures(2000, 40_000) });
    await expect(growToWholePage(later.open, jpeg)).rejects.toMatchObject(tooLarge);
  });

  test('cuts a growing page at the height that a picture can hold', async () => {
    const page = new AnsweringPage({ ...tall, measurePage: measures(2000, 100_000), scrollThrough: growing() });
    const result = await growToWholePage(page.open, { ...options, format: 'jpeg' });
    expect(result).toEqual({ ...grown, height: 100_000, truncated: true, mayGrow: true });
    const [, height] = page.calls.find(([name]) => name === 'grow') ?? [];
    expect(height).toBe(65_500);
  });

  test('is truncated if the page was still growing at its end, and may grow if the end was not reached', async () => {
    let height = 1000;
    const grows = () => ({ reachedEnd: (height += 1) !== 1001, height, scripted: true });
    const atEnd = new AnsweringPage({ ...tall, scrollThrough: grows });
    expect(await growToWholePage(atEnd.open, options)).toEqual({ ...grown, truncated: true, mayGrow: true });
    const before = new AnsweringPage({ ...tall, scrollThrough: growing() });
    expect(await growToWholePage(before.open, options)).toEqual({ ...grown, truncated: false, mayGrow: true });
  });

  test('takes tiles of a page of scenes that cover more than a quarter, but not of paper, boxes and very tall pages', async () => {
    const strategyOf = async (answers: object, format: 'png' | 'pdf' = 'png') => {
      const page = new AnsweringPage({ ...tall, shareOfScenes: 0.26, ...answers });
      return (await growToWholePage(page.open, { ...options, format })).strategy;
    };
    expect(await strategyOf({})).toBe('tiles');
    expect(await strategyOf({ shareOfScenes: 0.25 })).toBe('grown');
    expect(await strategyOf({}, 'pdf')).toBe('grown');
    expect(await strategyOf({ findScroller: 0 })).toBe('grown');
    expect(await strategyOf({ measurePage: measures(120 * 480) })).toBe('tiles');
    expect(await strategyOf({ measurePage: measures(120 * 480 + 1) })).toBe('grown');
  });
});

describe('refitHeight', () => {
  const fullPage = {
    height: 2000,
    left: 3,
    truncated: false,
    mayGrow: false,
    strategy: 'grown',
    isLocked: false,
  } as const;
  const refit = async (answers: object, change: Partial<FullPage> = {}, format: 'png' | 'jpeg' | 'pdf' = 'png') => {
    const page = new AnsweringPage({ ...tall, ...answers });
    const result = await refitHeight(page.open, { ...fullPage, ...change }, { ...options, format });
    return { page, result };
  };

  test('leaves a page alone that blocks scrolling', async () => {
    const { page, result } = await refit({}, { isLocked: true });
    expect(result).toEqual({ ...fullPage, isLocked: true });
    expect(page.calls).toEqual([]);
  });

  test('leaves a page alone that still fits the viewport', async () => {
    const { page, result } = await refit({ measurePage: measures(480) }, { strategy: 'single', height: 480, left: 0 });
    expect(result).toEqual({ ...fullPage, strategy: 'single', height: 480 });
    expect(page.names).toEqual(['finishAnimations', 'measurePage']);
  });

  test('lays a page out in a tall viewport that no longer fits the requested one', async () => {
    const { page, result } = await refit({ measurePage: measures(481) }, { strategy: 'single', height: 480 });
    expect(result).toEqual({ ...fullPage, height: 481 });
    expect(page.calls.filter(([name]) => name === 'grow')).toEqual([
      ['grow', 481],
      ['grow', 480],
    ]);
    const huge = await refit({ measurePage: measures(100_000) }, { strategy: 'single', height: 480 }, 'jpeg');
    expect(huge.page.calls).toContainEqual(['grow', 65_500]);
  });

  test('restores the height of the viewport and places fixed boxes', async () => {
    const { page, result } = await refit({});
    expect(result).toEqual(fullPage);
    const measured = [['finishAnimations'], ['measurePage']];
    const remembered = [['rememberRevealed'], ['noteFixed'], ['countUnseen'], ['watchLeaving'], ['grow', 480]];
    const drawn = [['untilFrames', 2], ['waitForIntersectionObservers', 150], ['keepRevealed'], ['finishAnimations']];
    const settled = [...drawn, ['growScroller'], ['restorePanes'], ['measurePage']];
    expect(page.calls).toEqual([...measured, ...remembered, ...settled, ['placeFixed', 2000], ...measured]);
    const paper = await refit({}, {}, 'pdf');
    expect(paper.page.names.slice(-4)).toEqual(['placeFixed', 'pinViewport', 'finishAnimations', 'measurePage']);
  });

  test('scrolls as a wheel if something was not seen', async () => {
    const { page, result } = await refit({ countUnseen: 1, measurePage: measures(2000, 2000, 2100) });
    expect(page.calls).toContainEqual(['scrollAsWheel', 3000]);
    expect(page.limits.get('scrollAsWheel')).toEqual({ timeoutMs: 8000, what: 'scrolling as a wheel' });
    expect(result).toEqual({ ...fullPage, height: 2100 });
  });

  test('measures until the height no longer changes, at most 5 times', async () => {
    const settled = await refit({ measurePage: measures(2000, 2100, 2100) });
    expect(settled.page.names.filter((name) => name === 'keepRevealed')).toHaveLength(2);
    expect(settled.result).toEqual({ ...fullPage, height: 2100 });
    const grows = await refit({ measurePage: measures(2000, 2001, 2002, 2003, 2004, 2005) });
    expect(grows.page.names.filter((name) => name === 'keepRevealed')).toHaveLength(5);
    expect(grows.result).toEqual({ ...fullPage, height: 2005, truncated: true });
    const shrinks = await refit({ measurePage: measures(2000, 1999, 1998, 1997, 1996, 1995) });
    expect(shrinks.result).toEqual({ ...fullPage, height: 1995 });
  });

  test('is truncated if the page may grow and has grown, or is taller than a picture', async () => {
    const grew = await refit({ measurePage: measures(2001) }, { mayGrow: true });
    expect(grew.result).toMatchObject({ height: 2001, truncated: true });
    const same = await refit({}, { mayGrow: true });
    expect(same.result).toMatchObject({ height: 2000, truncated: false });
    const before = await refit({}, { truncated: true });
    expect(before.result).toMatchObject({ truncated: true });
    const cut = await refit({ measurePage: measures(100_000) }, {}, 'jpeg');
    expect(cut.result).toMatchObject({ height: 65_500, truncated: true });
  });

  test('keeps tiles, and captures only the viewport of a page that fits it now', async () => {
    const tiles = await refit({}, { strategy: 'tiles' });
    expect(tiles.result.strategy).toBe('tiles');
    expect(tiles.page.names).not.toContain('placeFixed');
    const fits = await refit({ measurePage: measures(480) });
    expect(fits.result.strategy).toBe('single');
    expect(fits.page.names).not.toContain('placeFixed');
  });
});
