/// <reference lib="dom" />
import { beforeAll, expect, test } from 'vitest';
import * as windows from '../../../services/renderer/page/scripts/windows.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const holdInWindows: typeof windows.holdInWindows;
declare const useClock: typeof clock.useClock;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

/** Calls the function, and returns the ids of what it froze, and the scroll positions at which it waited. */
const hold = async (body: string) => {
  await page.show(body, '<style>html { scroll-behavior: smooth }</style>');
  return page.read(async () => {
    const tops: number[] = [];
    useClock(() => tops.push(scrollY));
    const frozen = await holdInWindows(document.documentElement);
    return { frozen: [...frozen].map(({ id }) => id).join(' '), tops };
  }, [windows.holdInWindows, clock.useClock]);
};
const windowAt = (top: number, height: number, inner: string, more = 'clip-path:inset(0)') =>
  `<div style="position:absolute;left:100px;top:${top}px;width:200px;height:${height}px;${more}">${inner}</div>`;
const picture = (id: string, more = '') =>
  `<b id="${id}" style="position:fixed;left:120px;top:30px;width:50px;height:60px;${more}">text</b>`;
const long = '<div style="height:3000px"></div>';
const read = () =>
  page.read(() =>
    [...document.querySelectorAll('b')].map((each) => {
      const { left, top, width, height } = each.getBoundingClientRect();
      return [getComputedStyle(each).position, left, top + scrollY, width, height];
    }),
  );

test('holdInWindows freezes fixed pictures as they are seen in windows in the middle of the viewport', async () => {
  const { frozen, tops } = await hold(
    `${windowAt(1000, 200, picture('a'))}${windowAt(100, 100, picture('b'))}${windowAt(2000, 960, picture('c'), 'clip:rect(0px,200px,960px,0px)')}${long}`,
  );
  expect(frozen).toBe('a b c');
  expect(tops).toEqual([860, 860, 860, 0, 0, 0, 2240, 2240, 2240, 0, 0, 0]);
  expect(await read()).toEqual([
    ['absolute', 120, 890, 50, 60],
    ['absolute', 120, 30, 50, 60],
    ['absolute', 120, 2270, 50, 60],
  ]);
  // The frozen pictures scroll with the page.
  await page.read(() => scrollTo({ top: 500, behavior: 'instant' }));
  expect((await read())[0]).toEqual(['absolute', 120, 890, 50, 60]);
});

test('holdInWindows keeps the boxes of transformed pictures', async () => {
  const more =
    'transform:scale(2);margin:5px;max-width:10px;max-height:10px;transition:all 9s;right:0;bottom:0;translate:3px;scale:2';
  await hold(windowAt(1000, 200, picture('a', more)) + long);
  const [[position, left, top, width, height] = []] = await read();
  expect([position, width, height]).toEqual(['absolute', 40, 40]);
  expect([left, top]).toEqual([120 + 5 + 3 - 15, 860 + 30 + 5 - 15]);
  const declared = await page.read(() => {
    const [rule] = document.adoptedStyleSheets.flatMap((sheet) => [...sheet.cssRules]);
    const { style } = rule as CSSStyleRule;
    const names = [
      'position',
      'right',
      'bottom',
      'margin-top',
      'width',
      'max-width',
      'max-height',
      'transform',
      'translate',
      'scale',
      'transition-property',
    ];
    return names.map((name) => `${name} ${style.getPropertyValue(name)} ${style.getPropertyPriority(name)}`);
  });
  expect(declared).toEqual([
    'position absolute important',
    'right auto important',
    'bottom auto important',
    'margin-top 0px important',
    'width 40px important',
    ...['max-width', 'max-height', 'transform', 'translate', 'scale', 'transition-property'].map(
      (name) => `${name} none important`,
    ),
  ]);
});

test('holdInWindows leaves what is not fixed, not in a window, or in a window as tall as a page', async () => {
  const bodies = [
    picture('a') + long,
    `<div style="height:100px">${picture('a')}</div>${long}`,
    windowAt(100, 100, picture('a', 'position:absolute')) + long,
    windowAt(100, 961, picture('a')) + long,
    `<style>html { clip-path: inset(0) }</style>${picture('a')}${long}`,
  ];
  for (const body of bodies) expect(await hold(body), body).toEqual({ frozen: '', tops: [] });
  expect(await page.read(() => document.adoptedStyleSheets.length)).toBe(0);
  // A picture in a fixed box moves with that box.
  const inBox = windowAt(100, 100, `<div id="box" style="position:fixed">${picture('a')}</div>`);
  expect(await hold(inBox + long)).toMatchObject({ frozen: 'box' });
});

test('holdInWindows freezes at most 20 pictures', async () => {
  const { frozen } = await hold(
    Array.from({ length: 21 }, (_, at) => windowAt(at * 100, 90, picture(`p${at}`))).join('') + long,
  );
  expect(frozen.split(' ')).toHaveLength(20);
});
