// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { boxing } from '../../../services/renderer/page/scripts/boxes.ts';
import * as clicking from '../../../services/renderer/page/scripts/clicking.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const obstacleOf: typeof clicking.obstacleOf;
declare const pointToClick: typeof clicking.pointToClick;
declare const useClock: typeof clock.useClock;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [...selecting, ...boxing, clicking.obstacleOf, clicking.pointToClick, clock.useClock];
const at = (left: number, top: number, width: number, height: number, more = '') =>
  `style="position:absolute;box-sizing:border-box;margin:0;left:${left}px;top:${top}px;width:${width}px;height:${height}px;${more}"`;

describe('obstacleOf', () => {
  /** Returns the obstacles for each readiness. The box of the element changes with each frame, as `change` says. */
  const obstacles = async (body: string, change = '') => {
    await page.show(body);
    return page.call(
      async (declaration: string) => {
        const element = document.querySelector<HTMLElement>('#x') as HTMLElement;
        useClock((ms) => (element.style.cssText += declaration.replaceAll('?', `${ms}px`)));
        return [
          await obstacleOf(element, 'any'),
          await obstacleOf(element, 'still'),
          await obstacleOf(element, 'enabled'),
        ];
      },
      [change],
      helpers,
    );
  };

  const elements: readonly (readonly [what: string, html: string, obstacle: string | null])[] = [
    ['a button', '<button id="x">a</button>', null],
    ['a paragraph', '<p id="x">a</p>', null],
    ...['button', 'input', 'select', 'textarea'].map(
      (tag) => [`a disabled ${tag}`, `<${tag} id="x" disabled></${tag}>`, 'disabled'] as const,
    ),
    ['an element in a disabled button', '<button disabled><b id="x">a</b></button>', 'disabled'],
    ['an element in a disabled group', '<fieldset disabled><b id="x">a</b></fieldset>', null],
    ['an element marked as disabled', '<div id="x" aria-disabled="true">a</div>', 'disabled'],
    ['an element in one marked as disabled', '<div aria-disabled="true"><b id="x">a</b></div>', 'disabled'],
    ['an element marked as enabled', '<div aria-disabled="true"><b id="x" aria-disabled="false">a</b></div>', null],
  ];
  test.each(elements)('tells whether %s is disabled, if that matters', async (_, body, obstacle) => {
    expect(await obstacles(body)).toEqual([null, null, obstacle]);
  });

  test.each(['left', 'top', 'width', 'height'])('tells whether %s changes, if that matters', async (side) => {
    expect(await obstacles(`<i id="x" ${at(1, 2, 3, 4)}></i>`, `;${side}:?`)).toEqual([null, 'moving', 'moving']);
  });
});

describe('pointToClick', () => {
  /** Returns the point or the obstacle, and how long this took. Elements with the id `late` appear after 250 ms, those with `soon` leave. */
  const point = async (body: string, timeoutMs = 0, readiness: clicking.Readiness = 'any', selector = '#x') => {
    await page.show(body, '<style id="hides">#late { display: none }</style>');
    return page.call(
      async (parts: ReturnType<typeof parseSelector>, timeout: number, state: clicking.Readiness) => {
        const passed = useClock((ms) => {
          if (ms < 250) return;
          document.querySelector('#hides')?.remove();
          document.querySelector('#soon')?.remove();
        });
        const found = await pointToClick(parts, timeout, state);
        return [typeof found === 'string' ? found : [found.x, found.y], passed()];
      },
      [parseSelector(selector), timeoutMs, readiness] as const,
      helpers,
    );
  };
  const target = `<i id="x" ${at(100, 200, 40, 20)}>a</i>`;

  test('returns the first point in the middle, the left or the right of the element that is not covered', async () => {
    const cover = (left: number, width: number) => `<b ${at(left, 200, width, 20)}></b>`;
    expect(await point(target)).toEqual([[120, 210], 16]);
    expect(await point(target + cover(119, 2))).toEqual([[110, 210], 16]);
    expect(await point(target + cover(105, 20))).toEqual([[130, 210], 16]);
    expect(await point(target + cover(105, 30))).toEqual(['covered', 16]);
    expect(await point(`<i id="x" ${at(100, 200, 40, 20)}><b ${at(0, 0, 40, 20)}></b></i>`)).toEqual([[120, 210], 16]);
    expect(await point('<i id="x" hidden></i>')).toEqual(['covered', 0]);
    expect(await point(`<i id="x" ${at(-90, 200, 40, 20, 'position:fixed')}></i>`)).toEqual(['covered', 16]);
    expect(await point(`<i id="x" hidden></i><i id="x" ${at(100, 200, 40, 20)}></i>`)).toEqual([[120, 210], 16]);
  });

  test('scrolls the element to the center of the viewport', async () => {
    const far = `<i id="x" ${at(2000, 3000, 40, 20)}></i><i ${at(0, 0, 5000, 5000, 'z-index:-1')}></i>`;
    expect(await point(far)).toEqual([[320, 240], 16]);
  });

  test('looks for a point of a ready element every 100 ms until the time is over', async () => {
    const cover = `<b id="soon" ${at(0, 0, 640, 480)}></b>`;
    expect(await point(target + cover, 1000)).toEqual([[120, 210], 364]);
    expect(await point(target + cover, 1000, 'still')).toEqual([[120, 210], 296]);
    expect(await point(target + cover, 16)).toEqual(['covered', 16]);
    expect(await point(target + cover, 17)).toEqual(['covered', 132]);
    const late = `<i id="late" ${at(100, 200, 40, 20)}></i>`;
    expect(await point(late, 1000, 'any', '#late')).toEqual([[120, 210], 316]);
    expect(await point(late, 100, 'any', '#late')).toEqual(['covered', 100]);
  });

  test('returns what the obstacle is', async () => {
    const disabled = '<button id="x" disabled>a</button>';
    expect(await point(disabled, 0, 'enabled')).toEqual(['disabled', 16]);
    expect(await point(disabled, 150, 'enabled')).toEqual(['disabled', 248]);
    expect((await point(disabled, 0, 'still'))[1]).toBe(32);
    expect(await point(`<div style="transform:translateX(9px)">${target}</div>`, 0, 'still')).toEqual([[129, 210], 32]);
  });

  test('returns a point of an element in a frame, unless the frame is covered there', async () => {
    const frame = `<iframe ${at(50, 60, 200, 100, 'border:0')} srcdoc="<i style='position:absolute;left:10px;top:20px;width:40px;height:20px'>"></iframe>`;
    expect(await point(frame, 0, 'any', 'iframe >> i')).toEqual([[80, 90], 16]);
    const cover = (left: number, width: number) => `<b ${at(left, 60, width, 100)}></b>`;
    expect(await point(frame + cover(75, 10), 0, 'any', 'iframe >> i')).toEqual([[70, 90], 16]);
    expect(await point(frame + cover(50, 100), 0, 'any', 'iframe >> i')).toEqual(['covered', 16]);
    const hidden = frame.replace('style="', 'style="visibility:hidden;');
    expect(await point(hidden + frame, 0, 'any', 'iframe >> i')).toEqual([[80, 90], 16]);
    const inner = `<iframe ${at(50, 60, 200, 100, 'border:0')} srcdoc="<i style='position:absolute;left:10px;top:20px;width:40px;height:20px'></i><b style='position:absolute;inset:0'>"></iframe>`;
    expect(await point(inner, 0, 'any', 'iframe >> i')).toEqual(['covered', 16]);
  });
});
