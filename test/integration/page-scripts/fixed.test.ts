// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedHelpers, noteFixed, placeFixed } from '../../../services/renderer/page/scripts/fixed.ts';
import type { PageState } from '../../../services/renderer/page/scripts/state.ts';
import { cssMayUse } from '../../../services/renderer/page/scripts/styles.ts';
import { everyElement } from '../../../services/renderer/page/scripts/tree.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const pageState: PageState;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [cssMayUse, everyElement, ...fixedHelpers];
/** Heights of the viewport, before and while the whole page is in view, and of the page, in CSS pixels. */
const [height, tall, pageHeight] = [480, 1480, 2000];

/** Shows a page, and notes its fixed boxes in the tall viewport. */
async function note(body: string, style: string): Promise<void> {
  await page.show(body, `<style>${style}</style>`);
  await page.page.setViewportSize({ width: 640, height: tall });
  await page.call(noteFixed, [], helpers);
  await page.page.setViewportSize({ width: 640, height });
}

async function place(body: string, style = ''): Promise<void> {
  await note(body, style);
  await page.call(placeFixed, [pageHeight], helpers);
}

/** Returns top and height of the elements with an id, and `hidden` for those that cannot be seen, by id. */
const readBoxes = () =>
  page.read(() =>
    Object.fromEntries(
      [...document.querySelectorAll('[id]')].map((each) => {
        const box = each.getBoundingClientRect();
        const isHidden = getComputedStyle(each).visibility === 'hidden';
        return [each.id, isHidden ? 'hidden' : [box.top, box.height]];
      }),
    ),
  );

const styleOf = (id: string, names: readonly string[]) =>
  page.call(
    (of: string, all: readonly string[]) => {
      const style = getComputedStyle(document.querySelector(`#${of}`) as Element);
      return all.map((name) => style.getPropertyValue(name));
    },
    [id, names],
  );

/** A fixed box. Its style is in a sheet, because `style` attributes lose properties that are set to invalid values. */
const fixed = (id: string, style: string, content = '') =>
  `<div id="${id}"><style>#${id} { position:fixed;left:0;width:100px;${style} }</style>${content}</div>`;

describe('placeFixed', () => {
  test('puts boxes at the lower edge at the end of the page, and leaves the others in the first viewport', async () => {
    await place(
      `${fixed('bar', 'top:0;height:50px')} ${fixed('foot', 'bottom:10px;height:50px')} ${fixed('half', 'top:50%;height:20px')}
       ${fixed('last', 'top:479px;height:20px')} ${fixed('below', 'top:480px;height:20px')}
       ${fixed('moved', 'bottom:0;height:30px;margin-bottom:5px;transition:all 60s')} <p id="flow" style="height:9px;margin:0">text</p>
       ${fixed('later', 'bottom:0;height:30px')} ${fixed('set', 'bottom:10px !important;height:30px')}
       ${fixed('lowered', 'bottom:0;height:30px;margin-top:5px')} ${fixed('open', 'bottom:0', '<p style="height:30px;margin:0"></p>')}`,
    );
    expect(await readBoxes()).toEqual({
      bar: [0, 50],
      foot: [1940, 50],
      half: [240, 20],
      last: [479, 20],
      below: 'hidden',
      moved: [1965, 30],
      flow: [0, 9],
      later: [1970, 30],
      set: [1960, 30],
      lowered: [1970, 30],
      open: [1970, 30],
    });
  });

  test('continues a background as tall as the viewport, and leaves its content in the first viewport', async () => {
    const end = (id: string) => `<i id="${id}" style="position:absolute;bottom:0;height:20px"></i>`;
    await place(
      `${fixed('plain', 'top:0;height:100%;box-sizing:border-box;padding:8px;background:linear-gradient(red, red);border-bottom:4px solid', end('inside'))}
       ${fixed('outer', 'top:0;bottom:0;overflow:hidden', `<p id="small" style="height:9px;margin:0"></p><div id="layer" style="position:absolute;inset:0;background:linear-gradient(red, blue)">${end('deep')}</div>${end('beside')}`)}
       ${fixed('empty', 'top:0;height:100%', end('edge'))} ${fixed('grows', 'top:0;height:calc(100vh - 480px);background:red')}
       ${fixed('clipped', 'top:0;height:100%;overflow:hidden;transition:all 60s;background:linear-gradient(red, red) fixed content-box')}
       ${fixed('column', 'top:0;height:100%;display:flex;flex-direction:column', '<div id="row"></div><style>#row { flex: 1; background: linear-gradient(red, red) }</style>')}
       ${fixed('near', 'top:0;height:100.2vh;background:linear-gradient(red, red)')} ${fixed('other', 'top:0;height:100.4vh;background:linear-gradient(red, red)')}`,
    );
    expect(await readBoxes()).toEqual({
      plain: [0, 2000],
      inside: [456, 20],
      outer: [0, 480],
      small: [0, 9],
      layer: [0, 2000],
      deep: [460, 20],
      beside: [460, 20],
      empty: [0, 480],
      edge: [460, 20],
      grows: [0, 0],
      clipped: [0, 2000],
      column: [0, 480],
      row: [0, 2000],
      near: [0, expect.closeTo(2000.96, 1)],
      other: [0, expect.closeTo(481.92, 1)],
    });
    expect(await styleOf('plain', ['border-bottom-width', 'width'])).toEqual(['1524px', '84px']);
    expect(await styleOf('layer', ['background-origin', 'background-clip'])).toEqual(['border-box', 'border-box']);
    const look = ['background-attachment', 'background-clip', 'transition-property', 'overflow'];
    expect(await styleOf('clipped', look)).toEqual(['scroll', 'border-box', 'none', 'hidden']);
    expect(await styleOf('outer', ['overflow'])).toEqual(['visible']);
    expect(await styleOf('empty', ['box-shadow'])).toEqual(['none']);
  });

  test('continues a color by shadows, which leave the size of the box as it was', async () => {
    const color = 'background:rgb(1, 2, 3)';
    await place(
      `${fixed('plain', `bottom:0;height:100%;box-sizing:border-box;border:4px solid;border-radius:9px;transition:all 1s;${color} content-box`)}
       ${fixed('shaded', `top:0;height:100%;box-shadow:0 0 4px red;${color}`)}
       ${fixed('outer', 'top:0;height:100%;overflow:hidden', `<div id="inner" style="height:100%;${color}"></div>`)}
       ${fixed('padded', 'top:0;bottom:0;padding:30px 9px 10px;border:5px solid', `<div id="filled" style="height:100%;${color}"></div>`)}
       ${fixed('around', 'top:0;bottom:0;padding:9px', `<div id="under" style="position:absolute;inset:0;${color}"></div>`)}
       ${fixed('loose', 'top:0;bottom:0;padding:9px', `<div id="part" style="height:80%;${color}"></div>`)}`,
    );
    expect(await readBoxes()).toEqual({
      plain: [0, 480],
      shaded: [0, 480],
      outer: [0, 480],
      inner: [0, 480],
      padded: [0, 480],
      filled: [35, 430],
      around: [0, 480],
      under: [0, 480],
      loose: [0, 480],
      part: [9, expect.closeTo(369.6, 1)],
    });
    const shadows = (tops: readonly number[]) => tops.map((top) => `rgb(1, 2, 3) 0px ${top}px 0px 0px`).join(', ');
    const copies = shadows([480, 960, 1440, 1520]);
    expect(await styleOf('plain', ['box-shadow'])).toEqual([copies]);
    expect(await styleOf('shaded', ['box-shadow'])).toEqual([`${copies}, rgb(255, 0, 0) 0px 0px 4px 0px`]);
    expect(await styleOf('inner', ['box-shadow'])).toEqual([copies]);
    expect(await styleOf('under', ['box-shadow'])).toEqual([copies]);
    expect(await styleOf('filled', ['box-shadow'])).toEqual([shadows([430, 860, 1290, 1520])]);
    expect(await styleOf('part', ['box-shadow'])).toEqual(['none']);
    expect(await styleOf('outer', ['overflow'])).toEqual(['visible']);
    const look = ['border-bottom-color', 'border-top-color', 'background-clip', 'transition-property'];
    expect(await styleOf('plain', look)).toEqual(['rgba(0, 0, 0, 0)', 'rgb(0, 0, 0)', 'border-box', 'none']);
    const corners = ['border-bottom-left-radius', 'border-bottom-right-radius', 'border-top-left-radius'];
    expect(await styleOf('plain', corners)).toEqual(['0px', '0px', '9px']);
  });

  test('keeps the place of a background that hangs at the lower edge or has other limits', async () => {
    await place(
      `${fixed('low', 'bottom:0;height:100%;background:linear-gradient(red, red)')}
       ${fixed('limited', 'top:0;height:100%;max-height:100vh;min-height:100vh;max-width:90px;box-sizing:border-box;padding:7px 5px;border-radius:9px;background:linear-gradient(red, red)')}
       ${fixed('both', 'top:0;height:100%;background:linear-gradient(red, red)', '<p id="child" style="margin:0;height:100%;background:blue"></p>')}
       ${fixed('frame', 'top:0;height:100%;border-image:linear-gradient(red, blue) 1;background:linear-gradient(red, blue)')}
       <p style="margin:0;height:9px"></p><img id="picture"><video id="film"></video>`,
      `#picture, #film { position: fixed; bottom: 0; left: 0; width: 100%; height: 100% } #picture { max-height: 100vh }`,
    );
    expect(await readBoxes()).toEqual({
      low: [0, 2000],
      limited: [0, 2000],
      both: [0, 2000],
      child: [0, 480],
      frame: [0, 2000],
      picture: [0, 2000],
      film: [0, 2000],
    });
    const look = ['width', 'border-bottom-left-radius', 'border-bottom-right-radius', 'border-top-left-radius'];
    expect(await styleOf('limited', look)).toEqual(['80px', '0px', '0px', '9px']);
    expect(await styleOf('frame', ['border-image-source'])).toEqual(['none']);
  });

  test('leaves boxes alone if the viewport was not taller', async () => {
    await page.show(`${fixed('all', 'top:0;height:100%;background:red')} ${fixed('foot', 'bottom:0;height:50px')}`);
    await page.call(noteFixed, [], helpers);
    await page.call(placeFixed, [pageHeight], helpers);
    expect(await readBoxes()).toEqual({ all: [0, 480], foot: [430, 50] });
    expect(await styleOf('all', ['box-shadow'])).toEqual(['none']);
  });

  test('leaves boxes alone that were not fixed in the tall viewport', async () => {
    await note('<div id="all"></div>', '#all { height: 100%; background: red } html, body { height: 100% }');
    await page.read(() => document.querySelector('#all')?.setAttribute('style', 'position:fixed;top:0'));
    await page.call(placeFixed, [pageHeight], helpers);
    expect(await styleOf('all', ['box-shadow'])).toEqual(['none']);
  });

  test('repeats an image of a background with each viewport', async () => {
    const image = `background-origin:border-box;background-image:url('data:image/gif;base64,')`;
    await place(
      `${fixed('once', `top:0;height:100%;background-repeat:no-repeat;${image}`)}
       ${fixed('across', `top:0;height:100%;background-repeat:repeat-x;${image}`)}`,
    );
    const names = ['background-repeat', 'background-origin'];
    expect(await styleOf('once', names)).toEqual(['repeat-y', 'padding-box']);
    expect(await styleOf('across', names)).toEqual(['repeat', 'padding-box']);
  });

  test('stretches a picture only if it covers the width of the viewport', async () => {
    const picture = (id: string, width: number) =>
      `<canvas id="${id}" style="position:fixed;top:0;left:0;height:100%;width:${width}px"></canvas>`;
    await place(
      `${picture('wide', 638)} ${picture('narrow', 637)}
       <div id="outer" style="position:fixed;inset:0">
         <canvas id="inner"></canvas>
         <i id="text" style="position:absolute;bottom:0;height:20px"></i>
       </div>`,
      '#inner { position: absolute; bottom: 0; width: 100%; height: 100% }',
    );
    expect(await readBoxes()).toEqual({
      wide: [0, 2000],
      narrow: [0, 480],
      outer: [0, 480],
      inner: [0, 2000],
      text: [460, 20],
    });
  });

  test('adds a border below pseudo-elements that grew with the viewport', async () => {
    await place(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((id) => `<div id="${id}"></div>`).join(''),
      `#a::before, #a::after { content: ''; position: fixed; top: 0; height: 100%; background: red } #a::after { height: 50px }
       #b::after { content: ''; position: absolute; height: 100%; background: red } #c::before { position: fixed; height: 100vh }
       #d::before { content: ''; position: fixed; bottom: 0; height: 100vh; background: red }
       #e::before, #e::after { content: ''; position: fixed; top: 0; bottom: 0; background: red } #f::before { content: none; position: fixed; height: 100vh }
       #g::before { content: ''; position: fixed; height: 50px } #g::after { content: ''; position: fixed; top: 0; height: 100%; background: red }
       #h::before { content: ''; position: fixed; top: 0; height: 100%; box-sizing: border-box; background: red }`,
    );
    const borders = await page.read(() =>
      ['#a', '#b', '#c', '#d', '#e', '#f', '#g', '#h'].map((id) =>
        ['::before', '::after'].map((pseudo) => {
          const { borderBottomWidth } = getComputedStyle(document.querySelector(id) as Element, pseudo);
          return Number.parseFloat(borderBottomWidth);
        }),
      ),
    );
    expect(borders).toEqual([
      [1520, 0],
      [0, 0],
      [0, 0],
      [1520, 0],
      [1520, 1520],
      [0, 0],
      [0, 1520],
      [1520, 0],
    ]);
    const places = await page.read(() =>
      ['#d', '#e', '#h'].map((id) => {
        const { top, height, boxSizing } = getComputedStyle(document.querySelector(id) as Element, '::before');
        return [top, height, boxSizing];
      }),
    );
    expect(places).toEqual(['d', 'e', 'h'].map(() => ['0px', '480px', 'content-box']));
    expect(await page.read(() => document.querySelectorAll('[data-webcapture-fixed]').length)).toBe(5);
  });

  test('draws a fixed background of the page in a separate box', async () => {
    const layer = () =>
      page.read(() => {
        const last = document.documentElement.lastElementChild as Element;
        const source = getComputedStyle(document.body).backgroundImage;
        const { top, left, height: own, width } = last.getBoundingClientRect();
        const { zIndex } = getComputedStyle(last);
        return last === document.body ? undefined : { source, top, left, height: own, width, zIndex };
      });
    const image = 'background: linear-gradient(red, blue)';
    const rest = '.x { position: fixed } div { margin: 9px }';
    await place('<p>text</p>', `body { ${image} fixed } ${rest}`);
    const [top, left, width, zIndex] = [0, 0, 640, '-2147483648'];
    expect(await layer()).toEqual({ source: 'none', top, left, height: 2000, width, zIndex });
    await place('<p>text</p>', `html { padding-left: 9px } body { ${image} fixed } ${rest}`);
    expect(await layer()).toMatchObject({ left: 0, width: 640 });
    await place('<p>text</p>', `html { ${image} fixed } body { ${image} } ${rest}`);
    expect(await layer()).toMatchObject({ height: 2000, source: 'linear-gradient(rgb(255, 0, 0), rgb(0, 0, 255))' });
    await place('<p>text</p>', `body { ${image} } ${rest}`);
    expect(await layer()).toBeUndefined();
  });

  test('draws no background in a document without a body', async () => {
    await note('<p>text</p>', '.x { position: fixed }');
    await page.read(() => document.body.remove());
    await page.call(placeFixed, [pageHeight], helpers);
    expect(await page.read(() => document.documentElement.lastElementChild?.localName)).toBe('head');
  });

  test('puts sticky boxes at their places, unless they stick in a box that scrolls', async () => {
    await place(
      `<div style="height:2000px"><p style="height:1900px;margin:0"></p><b id="flow"></b></div>
       <div style="position:absolute;top:0;height:100px;overflow:auto"><p style="height:900px;margin:0"></p><b id="list"></b></div>
       <div style="position:absolute;top:0;height:2000px;overflow:clip"><p style="height:900px;margin:0"></p><b id="clipped"></b></div>
       <i id="image"></i><i id="local"></i><u id="head"></u>`,
      `b { display: block; position: sticky; bottom: 0; height: 10px } #flow { bottom: 10px } u { position: sticky; top: 0 }
       #image { background: linear-gradient(red, blue) fixed } #local { background: linear-gradient(red, blue) local }`,
    );
    expect(await readBoxes()).toMatchObject({ flow: [1900, 10], list: [90, 10], clipped: [900, 10] });
    expect(await styleOf('image', ['background-attachment'])).toEqual(['scroll']);
    expect(await styleOf('local', ['background-attachment'])).toEqual(['local']);
    expect(await styleOf('head', ['position'])).toEqual(['sticky']);
  });

  test('puts sticky boxes of a body or pane that scrolls the page at their places', async () => {
    const sticky = '<p style="height:900px;margin:0"></p><b class="s"></b>';
    await note(
      `<div id="pane" style="height:200px;overflow:auto">${sticky}</div><div id="list" style="height:200px;overflow:auto">${sticky}</div>`,
      'html, body { height: 300px; overflow: auto } b { display: block; position: sticky; bottom: 0; height: 10px; top: auto }',
    );
    await page.read(() => {
      const element = document.querySelector('#pane') as HTMLElement;
      pageState.webcaptureScroller = { scrolled: element, panes: [{ element, scrolled: element, chain: [] }] };
      document.body.insertAdjacentHTML('beforeend', '<p style="height:900px;margin:0"></p><b class="s"></b>');
      document.documentElement.append(document.createElement('b'));
    });
    await page.call(placeFixed, [pageHeight], helpers);
    const positions = await page.read(() =>
      [...document.querySelectorAll('b')].map((each) => getComputedStyle(each).position),
    );
    expect(positions).toEqual(['relative', 'sticky', 'relative', 'relative']);
  });

  test('leaves boxes alone that scroll the page, and what is in them or around them', async () => {
    const foot = fixed('outer', 'bottom:0;height:50px', '<div id="pane"></div>');
    await note(foot + fixed('foot', 'bottom:0;height:50px'), '#pane { position: fixed; bottom: 0; height: 40px }');
    await page.read(() => {
      const element = document.querySelector('#pane') as HTMLElement;
      pageState.webcaptureScroller = { scrolled: element, panes: [{ element, scrolled: element, chain: [] }] };
    });
    await page.call(placeFixed, [pageHeight], helpers);
    expect(await readBoxes()).toEqual({ outer: [430, 50], pane: [440, 40], foot: [1950, 50] });
  });

  test('changes nothing in a page that is not taller than the viewport, or was not noted', async () => {
    const foot = fixed('foot', 'bottom:0;height:50px');
    await note(foot, '');
    for (const most of [height, height - 80]) {
      await page.call(placeFixed, [most], helpers);
      expect(await readBoxes()).toEqual({ foot: [430, 50] });
      expect(await page.read(() => document.querySelector('#foot')?.hasAttribute('style'))).toBe(false);
    }
    await page.call(placeFixed, [height + 1], helpers);
    expect(await readBoxes()).toEqual({ foot: [431, 50] });
    await page.show(foot);
    await page.call(placeFixed, [pageHeight], helpers);
    expect(await readBoxes()).toEqual({ foot: [430, 50] });
  });

  test('passes over elements that cannot have a style', async () => {
    await note(fixed('foot', 'bottom:0;height:50px'), 'foreign { position: fixed; top: 900px; height: 9px }');
    await page.read(() => document.body.prepend(document.createElementNS('urn:other', 'foreign')));
    await page.call(placeFixed, [pageHeight], helpers);
    expect(await readBoxes()).toEqual({ foot: [1950, 50] });
  });
});
