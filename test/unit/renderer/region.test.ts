import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { describe, expect, test } from 'vitest';
import { measureRegion, requestsRegion, scrollToRegion } from '../../../services/renderer/page/region.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { defaultOptions } from '../../harness/records.ts';

const clip = { x: 10, y: 20, width: 30, height: 40 };
const measures = { left: 0, width: 640, height: 1000 };

const optionsOf = (more: Partial<RenderOptions>): RenderOptions => ({ ...defaultOptions, ...more });

const scroll = async (more: Partial<RenderOptions>, answers: object = {}) => {
  const page = new AnsweringPage({ measurePage: measures, scrollThrough: { reachedEnd: true }, ...answers });
  return { page, isLarge: await scrollToRegion(page.open, optionsOf(more)) };
};
const measure = async (more: Partial<RenderOptions>, answers: object = {}) => {
  const page = new AnsweringPage({ measurePage: measures, ...answers });
  return { page, region: await measureRegion(page.open, optionsOf(more)) };
};
const missing = {
  code: 'CAPTURE_FAILED',
  causedBy: 'client',
  message: expect.stringMatching(
    /^selector "#a" matched no visible element within 5000 ms\. .*Use waitFor to wait longer\.$/,
  ),
};
const nowhere = {
  describeSearch: { kind: 'elements', matches: 0, documents: 1, shadowRoots: 0, frames: 0, inFrame: null },
};

test('requestsRegion is true for a selector or a clip', () => {
  expect([{}, { selector: '#a' }, { clip }].map((more) => requestsRegion(optionsOf(more)))).toEqual([
    false,
    true,
    true,
  ]);
});

describe('scrollToRegion', () => {
  test('does nothing without a region', async () => {
    const { page, isLarge } = await scroll({});
    expect([page.calls, isLarge]).toEqual([[], false]);
  });

  test('scrolls to the element, and loads what a large one contains', async () => {
    const small = await scroll({ selector: '#a' }, { untilFound: 'found', scrollToElement: false });
    expect([small.page.names, small.isLarge]).toEqual([['untilFound', 'scrollToElement'], false]);
    expect(small.page.calls[0]).toMatchObject(['untilFound', { state: 'visible' }, expect.any(Number)]);
    expect(small.page.limits.get('scrollToElement')?.timeoutMs).toBe(15_000);
    const large = await scroll({ selector: '#a' }, { untilFound: 'found', scrollToElement: true });
    expect([large.page.calls.at(-1), large.isLarge]).toEqual([['loadEagerly'], true]);
  });

  test('names a selector without an element', async () => {
    await expect(scroll({ selector: '#a' }, { untilFound: 'missed', ...nowhere })).rejects.toMatchObject(missing);
    await expect(scroll({ selector: '#a' }, { untilFound: 'refused' })).rejects.toMatchObject({
      causedBy: 'client',
      message: expect.stringContaining('selector "#a"'),
    });
  });

  test('scrolls through the page only for a clip that is not in view', async () => {
    const isLarge = async (change: Partial<typeof clip>, left = 0) =>
      (await scroll({ clip: { ...clip, ...change } }, { measurePage: { ...measures, left } })).isLarge;
    expect(await isLarge({})).toBe(false);
    expect(await isLarge({ y: 440 })).toBe(false);
    expect(await isLarge({ y: 441 })).toBe(true);
    expect(await isLarge({ x: 610 })).toBe(false);
    expect(await isLarge({ x: 611 })).toBe(true);
    // The viewport of a document from right to left is at its right edge.
    expect([await isLarge({ x: 10 }, 10), await isLarge({ x: 9 }, 10), await isLarge({ x: 620 }, 10)]).toEqual([
      false,
      true,
      false,
    ]);
    const { page } = await scroll({ clip: { ...clip, y: 900 } });
    expect(page.calls).toEqual([['scrollToTop'], ['measurePage'], ['loadEagerly'], ['scrollThrough', 0, 0, 1]]);
  });
});

describe('measureRegion', () => {
  test('returns nothing without a region', async () => {
    const { page, region } = await measure({});
    expect([page.calls, region]).toEqual([[], undefined]);
  });

  test('returns the box of the element with its padding', async () => {
    const box = { x: 1, y: 2, width: 3, height: 4 };
    const { page, region } = await measure({ selector: '#a', elementPadding: 7 }, { isolateElement: box });
    expect(region).toEqual(box);
    expect(page.calls[0]?.[2]).toBe(7);
    expect((await measure({ selector: '#a' }, { isolateElement: box })).page.calls[0]?.[2]).toBe(0);
    await expect(measure({ selector: '#a' }, { isolateElement: null, ...nowhere })).rejects.toMatchObject(missing);
  });

  test('returns the clip at the top of the page, which must contain it', async () => {
    const { page, region } = await measure({ clip });
    expect([page.calls, region]).toEqual([[['scrollToTop'], ['measurePage']], clip]);
    const most = { x: 0, y: 0, width: 640, height: 1000 };
    expect((await measure({ clip: most })).region).toEqual(most);
    for (const [more, size] of [
      [{ x: 1 }, '641 × 1000'],
      [{ y: 1 }, '640 × 1001'],
    ] as const)
      await expect(measure({ clip: { ...most, ...more } })).rejects.toMatchObject({
        code: 'CAPTURE_FAILED',
        causedBy: 'client',
        message: `clip extends to ${size} px, but the page is 640 × 1000 px. Request a smaller clip.`,
      });
  });
});
