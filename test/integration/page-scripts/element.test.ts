// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { boxing } from '../../../services/renderer/page/scripts/boxes.ts';
import { clearView, openBoxes } from '../../../services/renderer/page/scripts/covers.ts';
import { isolateElement, scrollToElement } from '../../../services/renderer/page/scripts/element.ts';
import { measurePage } from '../../../services/renderer/page/scripts/measures.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const pageState: PageState;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [...selecting, ...boxing, openBoxes, clearView, measurePage];
const at = (left: number, top: number, width: number, height: number, more = '') =>
  `style="position:absolute;left:${left}px;top:${top}px;width:${width}px;height:${height}px;${more}"`;

describe('isolateElement', () => {
  const isolate = (selector: string, padding = 0) =>
    page.call(isolateElement, [parseSelector(selector), padding], helpers);

  test('returns the box with the padding, in whole pixels and limited to the page', async () => {
    await page.show(
      `<b ${at(10.4, 20.6, 30.2, 40.2)}></b><u ${at(0, 1950, 640, 50)}></u><i ${at(-40, 0, 40, 40)}></i><s ${at(0, -40, 40, 40)}></s>
       <em ${at(700, 100, 50, 50, 'position:fixed')}></em><q ${at(100, 2100, 50, 50, 'position:fixed')}></q><p hidden>text</p>`,
    );
    expect(await isolate('b')).toEqual({ x: 10, y: 20, width: 31, height: 41 });
    expect(await isolate('b', 5)).toEqual({ x: 5, y: 15, width: 41, height: 51 });
    expect(await isolate('b', 100)).toEqual({ x: 0, y: 0, width: 141, height: 161 });
    expect(await isolate('u', 5)).toEqual({ x: 0, y: 1945, width: 640, height: 55 });
    for (const selector of ['i', 's', 'p', 'nav']) expect(await isolate(selector), selector).toBeNull();
    // A fixed element extends beyond the page.
    expect(await isolate('em')).toEqual({ x: 700, y: 100, width: 50, height: 50 });
    expect(await isolate('q', 5)).toEqual({ x: 95, y: 2095, width: 60, height: 55 });
    await page.read(() => scrollTo(0, 1000));
    expect(await isolate('b')).toEqual({ x: 10, y: 20, width: 31, height: 41 });
  });

  test('returns the box from the left edge of a page that scrolls to the left, and in a frame', async () => {
    await page.show(
      `<style>html { direction: rtl } body { margin: 0; width: 1000px; height: 300px }</style><b ${at(-100, 10, 20, 30)}></b>`,
    );
    expect(await isolate('b')).toEqual({ x: 260, y: 10, width: 20, height: 30 });
    await page.show(`<iframe ${at(100, 50, 200, 100, 'border:0')} srcdoc="<body style=margin:0><b style='display:block;height:20px'>"></iframe>
      <u ${at(100, 50, 50, 50)}></u>`);
    expect(await isolate('iframe >> b')).toEqual({ x: 100, y: 50, width: 200, height: 20 });
    expect(await page.read(() => document.querySelector('u')?.style.opacity)).toBe('0');
  });

  test('keeps to the element that was scrolled to as long as it is visible', async () => {
    await page.show(`<b ${at(10, 10, 10, 10)}></b>`);
    expect(await page.call(scrollToElement, [parseSelector('b')], helpers)).toBe(false);
    await page.read(() =>
      document.body.insertAdjacentHTML('afterbegin', '<b style="position:fixed;left:1px;width:9px;height:9px">'),
    );
    expect(await isolate('b')).toMatchObject({ x: 10 });
    await page.read(() => void ((pageState.webcaptureElement as HTMLElement).hidden = true));
    await page.read(() => void ((pageState.webcaptureElement as HTMLElement).style.display = 'none'));
    expect(await isolate('b')).toMatchObject({ x: 1 });
    await page.read(() => {
      (pageState.webcaptureElement as HTMLElement).style.display = '';
      pageState.webcaptureElement?.remove();
    });
    expect(await isolate('b')).toMatchObject({ x: 1 });
  });
});

describe('scrollToElement', () => {
  /** Returns the result, and positions to which the page was scrolled. */
  const scroll = async (selector: string) => {
    await page.page.evaluate(() => {
      const positions: number[][] = [];
      (globalThis as { positions?: number[][] }).positions = positions;
      addEventListener('scroll', () => positions.push([Math.round(scrollX), Math.round(scrollY)]));
    });
    const isLarge = await page.call(scrollToElement, [parseSelector(selector)], helpers);
    await page.page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    const positions = await page.page.evaluate(() => (globalThis as { positions?: number[][] }).positions);
    return { isLarge, positions };
  };

  test('leaves the page where it is if the element is in view, or there is none', async () => {
    await page.show(`<b ${at(0, 0, 640, 480)}></b><u ${at(0, 1000, 10, 10)}></u>`);
    expect(await scroll('b')).toEqual({ isLarge: false, positions: [] });
    expect(await scroll('nav')).toEqual({ isLarge: false, positions: [] });
    expect(await page.read(() => pageState.webcaptureElement?.localName)).toBe('b');
    await page.show(`<b ${at(0, 400, 10, 10)}></b><i ${at(0, 0, 10, 3000)}></i>`);
    expect(await scroll('b')).toEqual({ isLarge: false, positions: [] });
    await page.show(`<u ${at(0, 1000, 10, 100)}></u><i ${at(0, 0, 10, 3000)}></i>`);
    expect(await scroll('u')).toEqual({ isLarge: false, positions: [[0, 1050 - 240]] });
  });

  test('scrolls through an element that is taller than the viewport, and back to its start', async () => {
    await page.show(`<b ${at(0, 500, 640, 960)}></b><i ${at(0, 0, 10, 4000)}></i>`);
    const tops = async () => (await scroll('b')).positions?.map(([, top]) => top);
    expect(await tops()).toEqual([500, 980, 500]);
    await page.show(`<b ${at(0, 500, 640, 961)}></b><i ${at(0, 0, 10, 4000)}></i>`);
    expect(await tops()).toEqual([500, 980, 1460, 500]);
    expect(await scroll('b')).toMatchObject({ isLarge: true });
  });

  test('scrolls sideways in vertical writing', async () => {
    for (const [mode, sense] of [
      ['vertical-rl', -1],
      ['vertical-lr', 1],
    ] as const) {
      await page.show(
        `<style>html { writing-mode: ${mode} } body { width: 3000px }</style><p style="inline-size:100px;block-size:1300px;margin:0"></p>`,
      );
      const { isLarge, positions } = await scroll('p');
      const [before = [], last = []] = positions?.slice(-2) ?? [];
      expect(isLarge, mode).toBe(true);
      expect([(before[0] ?? 0) - (last[0] ?? 0), before[1]], mode).toEqual([sense * 1280, 0]);
    }
  });

  test('enlarges a frame that is too small to show the element', async () => {
    const frame = (style: string, content: string) =>
      `<iframe style="border:5px solid;box-sizing:border-box;max-width:90%;max-height:90%;width:110px;height:110px;${style}"
         srcdoc="<body style='margin:0'><div style='${content}'>"></iframe><i ${at(0, 0, 1, 900)}></i>`;
    const styleOf = () => page.read(() => document.querySelector('iframe')?.style.cssText);
    await page.show(frame('', 'width:150.5px;height:50px'));
    expect(await scroll('iframe >> div')).toMatchObject({ isLarge: false });
    const wide = await styleOf();
    for (const part of [
      'max-width: none !important',
      ' width: 151px !important',
      'box-sizing: content-box !important',
      'flex: 0 0 auto !important',
      ' height: 110px;',
      'max-height: 90%',
    ]) {
      expect(wide).toContain(part);
    }
    await page.show(frame('', 'width:50px;height:600px'));
    expect(await scroll('iframe >> div')).toMatchObject({ isLarge: true });
    const tall = await styleOf();
    for (const part of ['max-height: none !important', ' height: 600px !important', ' width: 110px;'])
      expect(tall).toContain(part);
    await page.show(frame('margin-top:800px', 'width:101px;height:101px'));
    await scroll('iframe >> div');
    expect(await styleOf()).not.toContain('important');
  });

  test('opens a box that clips the element, and scrolls to the element again', async () => {
    await page.show(
      `<div style="margin-top:1000px;height:100px;overflow:hidden"><b style="display:block;height:400px;margin-top:50px"></b></div>
       <i ${at(0, 0, 1, 3000)}></i>`,
    );
    expect(await scroll('b')).toMatchObject({ isLarge: false });
    expect(await page.read(() => Math.round(document.querySelector('b')?.getBoundingClientRect().top ?? 0))).toBe(40);
    expect(await page.read(() => document.querySelector('div')?.style.overflow)).toBe('visible');
  });
});
