/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import * as fixed from '../../../services/renderer/page/scripts/print-fixed.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import { everyElement } from '../../../services/renderer/page/scripts/tree.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const { noteFixedByPrint, noteFixedOnScreen, placeFixedOnce, printFixedHelpers } = fixed;
const helpers = [...printFixedHelpers, cssMayUse, everyElement];
const at = (place: string, width: number, height: number, more = '') =>
  `style="position:fixed;${place};width:${width}px;height:${height}px;${more}"`;
const long = '<div style="height:2000px"></div>';

/** Returns the positions of the elements with an id, and their boxes in the page: left, top, width and height. */
const places = () =>
  page.read(() =>
    Object.fromEntries(
      [...document.querySelectorAll('[id]')].map((each) => {
        const { left, top, width, height } = each.getBoundingClientRect();
        const { position, display } = getComputedStyle(each);
        const box = [left + scrollX, top + scrollY, width, height];
        return [each.id, display === 'none' ? 'gone' : `${position} ${box.map(Math.round).join(' ')}`];
      }),
    ),
  );

const placed = async (body: string, scrolledTo = 0) => {
  await page.show(body);
  await page.call((top: number) => scrollTo(0, top), [scrolledTo]);
  await page.call(placeFixedOnce, [], helpers);
  return places();
};

describe('placeFixedOnce', () => {
  test('puts elements at their places on the first page, or at the end of the content', async () => {
    const body = `<b id="bar" ${at('top:0;left:0', 640, 40)}></b><b id="middle" ${at('top:240px;left:9px', 30, 20)}></b>
      <b id="lower" ${at('top:241px;left:9px', 30, 20)}></b><b id="foot" ${at('bottom:0;right:0', 100, 40, 'margin:3px;transition:all 9s')}></b>`;
    expect(await placed(body + long)).toEqual({
      bar: 'absolute 0 0 640 40',
      middle: 'absolute 9 240 30 20',
      lower: 'absolute 9 2000 30 20',
      foot: 'absolute 537 2000 100 40',
    });
    expect(await placed(body)).toMatchObject({ lower: 'absolute 9 480 30 20' });
    expect(await placed(body + long, 100)).toMatchObject({
      bar: 'absolute 0 100 640 40',
      foot: 'absolute 537 2000 100 40',
    });
  });

  test('keeps the size that edges and transforms define', async () => {
    expect(
      await placed(
        `<b id="edges" style="position:fixed;inset:10px 20px 420px 30px">text</b><b id="scaled" ${at('top:0;left:100px', 40, 20, 'transform:scale(2)')}>text</b>${long}`,
      ),
    ).toEqual({ edges: 'absolute 30 10 590 50', scaled: 'absolute 80 -10 80 40' });
    const style = await page.read(() => document.querySelector<HTMLElement>('#edges')?.style.cssText);
    for (const part of [
      'position: absolute',
      'transition: none',
      'inset: 10px auto auto 30px',
      'width: 590px',
      'height: 50px',
    ])
      expect(style).toContain(`${part} !important`);
  });

  test('hides what is outside of the viewport', async () => {
    expect(
      await placed(
        `${(
          [
            ['left', 'left:639px'],
            ['left1', 'left:638px'],
            ['right', 'left:-29px'],
            ['right1', 'left:-28px'],
          ] as const
        )
          .map(([id, place]) => `<b id="${id}" ${at(`top:0;${place}`, 30, 30)}></b>`)
          .join('')}
         ${(
           [
             ['below', 'top:479px'],
             ['below1', 'top:478px'],
             ['above', 'top:-29px'],
             ['above1', 'top:-28px'],
           ] as const
         )
           .map(([id, place]) => `<b id="${id}" ${at(`left:0;${place}`, 30, 30)}></b>`)
           .join('')}${long}`,
      ),
    ).toEqual({
      left: 'gone',
      left1: 'absolute 638 0 30 30',
      right: 'gone',
      right1: 'absolute -28 0 30 30',
      below: 'gone',
      below1: 'absolute 0 2000 30 30',
      above: 'gone',
      above1: 'absolute 0 -28 30 30',
    });
  });

  test('leaves backgrounds and hidden elements on every page', async () => {
    const text = '<i>text</i>';
    expect(
      await placed(
        `<b id="back" ${at('top:0;left:0', 576, 432)}></b><b id="text" ${at('top:0;left:0', 576, 432)}>${text}</b><b id="narrow" ${at('top:0;left:0', 575, 432)}></b>
         <b id="low" ${at('top:0;left:0', 576, 431)}></b><b id="hidden" ${at('top:0;left:0', 9, 9, 'visibility:hidden')}>${text}</b><b id="blank" ${at('top:0;left:0', 640, 480)}> </b>
         <form id="form" ${at('top:0;left:0', 9, 9)}><input name="style"></form><p id="none" hidden style="position:fixed"></p>${long}`,
      ),
    ).toEqual({
      back: 'fixed 0 0 576 432',
      text: 'absolute 0 0 576 432',
      narrow: 'absolute 0 0 575 432',
      low: 'absolute 0 0 576 431',
      hidden: 'fixed 0 0 9 9',
      blank: 'fixed 0 0 640 480',
      form: 'absolute 0 0 9 9',
      none: 'gone',
    });
  });

  test('hides a sidebar that covers text', async () => {
    const side = (height = 432, more = '') => `<b id="side" ${at('top:0;left:0', 200, height, more)}>menu</b>`;
    const text = (style: string, content = 'text') =>
      `<p style="margin:0;position:absolute;white-space:nowrap;${style}">${content}</p>`;
    const wide = '<span style="display:inline-block;width:50px;height:9px"></span>';
    for (const [body, isHidden] of [
      [text(''), true],
      [text('left:190px', 'long text'), true],
      [text('left:197px', 'long text'), false],
      [text('left:196px', 'long text'), true],
      [text('left:300px'), false],
      [text('left:300px') + text('left:50px;top:300px'), true],
      [text('', wide), false],
      [text('', ' '), false],
      [text('visibility:hidden') + text('display:none'), true],
      [text('display:none'), false],
      [text('z-index:1'), false],
      [text('top:440px'), false],
      [
        `${'<i>x</i>'.repeat(400)}`.replace(/^/, '<div style="margin-left:300px">') + '</div>' + text('top:400px'),
        false,
      ],
      [
        `${'<i>x</i>'.repeat(399)}`.replace(/^/, '<div style="margin-left:300px">') + '</div>' + text('top:400px'),
        true,
      ],
    ] as const) {
      const { side: place } = await placed(body + side() + long);
      expect(place === 'gone', body.slice(-200)).toBe(isHidden);
    }
    expect((await placed(text('') + side(431) + long))['side']).toBe('absolute 0 0 200 431');
    expect((await placed(side() + long))['side']).toBe('absolute 0 0 200 432');
    const aside = `<form id="side" ${at('top:0;left:0', 200, 432)}>menu <input name="contains"></form>`;
    expect((await placed(text('') + aside + long))['side']).toBe('gone');
  });

  test('finds dialogs and popovers in a page without a rule that fixes anything', async () => {
    await page.show(
      `<dialog id="dialog" style="margin:0;padding:0;border:0;width:50px;height:50px">text</dialog>${long}`,
    );
    await page.page.evaluate(() => document.querySelector('dialog')?.showModal());
    await page.call(placeFixedOnce, [], helpers);
    expect(await places()).toEqual({ dialog: 'absolute 0 0 50 50' });
    await page.show(
      `<p id="popover" popover style="margin:0;padding:0;border:0;inset:0;width:50px;height:50px">text</p>${long}`,
    );
    await page.page.evaluate(() => document.querySelector('p')?.showPopover());
    await page.call(placeFixedOnce, [], helpers);
    expect(await places()).toEqual({ popover: 'absolute 0 0 50 50' });
  });
});

test('elements that only the styles for print fix stay on every page', async () => {
  await page.show(
    `<b id="screen" ${at('top:0;left:0', 9, 9)}></b><b id="print" class="late" style="width:9px;height:9px"></b>${long}`,
  );
  await page.call(noteFixedOnScreen, [], helpers);
  await page.page.evaluate(() => {
    document.head.insertAdjacentHTML('beforeend', '<style>.late { position: fixed; top: 0; left: 0 }</style>');
  });
  await page.call(noteFixedByPrint, [], helpers);
  await page.call(placeFixedOnce, [], helpers);
  expect(await places()).toEqual({ screen: 'absolute 0 0 9 9', print: 'fixed 0 0 9 9' });
});
