/// <reference lib="dom" />
import { beforeAll, describe, expect, test } from 'vitest';
import { boxing } from '../../../services/renderer/page/scripts/boxes.ts';
import * as covers from '../../../services/renderer/page/scripts/covers.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const clearView: typeof covers.clearView;
declare const openBoxes: typeof covers.openBoxes;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [...selecting, ...boxing, covers.openBoxes, covers.clearView];

/** Returns the style attributes of the elements with an id, by id. */
const readStyles = () =>
  Object.fromEntries([...document.querySelectorAll('[id]')].map((each) => [each.id, each.getAttribute('style') ?? '']));

describe('clearView', () => {
  const clear = (padding = 0) =>
    page.call(
      (around: number) => {
        const target = document.querySelector('#target') as Element;
        clearView({ document, view: window, target }, () => target.getBoundingClientRect(), around);
        return { sheets: document.adoptedStyleSheets.length, top: scrollY };
      },
      [padding],
      helpers,
    );
  const hidden = 'transition: none !important; opacity: 0 !important;';
  const box = (id: string, left: number, top: number, width: number, height: number, style = 'position:absolute') =>
    `<div id="${id}" class="${style}" data-box="${left},${top},${width},${height},${style}"></div>
     <style>#${id} { ${style}; left: ${left}px; top: ${top}px; width: ${width}px; height: ${height}px }</style>`;

  /** Returns the scroll positions of the visits in a view of 100 × 100 px that is scrolled to (3, 7). */
  const positionsFor = (height: number) =>
    page.call(
      (tall: number) => {
        const positions: unknown[] = [];
        const view = {
          innerWidth: 100,
          innerHeight: 100,
          scrollX: 3,
          scrollY: 7,
          CSSStyleSheet,
          scrollTo: ({ left, top, behavior }: ScrollToOptions) => positions.push([left ?? null, top, behavior]),
        };
        const target = document.body;
        clearView({ document, view: view as unknown as Window, target }, () => new DOMRect(0, 0, 100, tall), 0);
        return positions;
      },
      [height],
      helpers,
    );

  test('scrolls through a target that is taller than the view, at most 60 views, and back', async () => {
    await page.show('<p>text</p>');
    const back = [3, 7, 'instant'];
    expect(await positionsFor(100)).toEqual([back]);
    expect(await positionsFor(101)).toEqual([[null, 107, 'instant'], back]);
    expect(await positionsFor(200)).toEqual([[null, 107, 'instant'], back]);
    expect(await positionsFor(201)).toEqual([[null, 107, 'instant'], [null, 207, 'instant'], back]);
    expect(await positionsFor(10_000)).toHaveLength(60);
  });

  test('hides what covers any part of the target, and nothing else', async () => {
    await page.show(
      `<main id="main" style="position:absolute;left:100px;top:100px;width:200px;height:1000px">
         <div id="target" style="height:1000px"><i id="inside" style="position:absolute;inset:0"></i></div>
       </main>
       ${box('behind', 0, 0, 600, 1200, 'position:absolute; z-index: -1')}
       ${box('middle', 150, 200, 100, 200)} ${box('outer', 150, 700, 100, 200)}
       <style>#outer { display: grid } #nested { width: 10px; height: 10px }</style>
       ${box('beside', 0, 100, 100, 100)} ${box('touching', 300.5, 100, 50, 100)} ${box('below', 100, 1100, 200, 50)}
       ${box('above', 100, 0, 200, 100)} ${box('through', 260, 100, 20, 100, 'position:absolute; pointer-events: none')}
       <div id="fixed" style="position:fixed;left:0;bottom:0;width:640px;height:20px"></div>
       <div style="height:2000px"></div>
       <script>outer.innerHTML = '<b id="nested"><i id="deep" style="position:absolute;inset:0"></i></b>'; scrollTo(0, 50)</script>`,
    );
    const before = await page.read(readStyles);
    expect(await clear()).toEqual({ sheets: 0, top: 50 });
    const after = await page.read(readStyles);
    const changed = Object.keys(after).filter((id) => after[id] !== before[id]);
    expect(changed.toSorted()).toEqual(['fixed', 'middle', 'outer', 'through']);
    for (const id of ['middle', 'outer', 'through']) expect(after[id]).toBe(hidden);
  });

  test('hides boxes that cover a pixel at an edge or a corner of the target', async () => {
    await page.show(
      `<div id="target" style="position:absolute;left:100px;top:100px;width:200px;height:200px"></div>
       ${box('left', 0, 150, 101, 50)} ${box('right', 299, 150, 100, 50)} ${box('top', 150, 0, 50, 101)}
       ${box('bottom', 150, 299, 50, 50)} ${box('corner', 290, 290, 100, 100)}`,
    );
    await clear();
    expect(await page.read(readStyles)).toEqual({
      target: 'position:absolute;left:100px;top:100px;width:200px;height:200px',
      left: hidden,
      right: hidden,
      top: hidden,
      bottom: hidden,
      corner: hidden,
    });
  });

  test.each([
    ['middle', 40, 40],
    ['start', 0, 0],
    ['end', 90, 90],
    ['top right', 90, 0],
    ['bottom left', 0, 90],
  ])('finds a cover that is seen only in its %s', async (_, left, top) => {
    // A child of the target is above the rest of the cover.
    await page.show(
      `<div id="target" style="position:absolute;left:100px;top:100px;width:100px;height:100px">
         <i style="position:absolute;z-index:2;inset:0;clip-path:polygon(evenodd, 0 0, 100px 0, 100px 100px, 0 100px, 0 0,
           ${left}px ${top}px, ${left + 20}px ${top}px, ${left + 20}px ${top + 20}px, ${left}px ${top + 20}px, ${left}px ${top}px)"></i>
       </div>
       ${box('cover', 100, 100, 100, 100, 'position:absolute; z-index: 1')}`,
    );
    await clear();
    expect((await page.read(readStyles))['cover']).toBe(hidden);
  });

  test('leaves boxes between the target and its content alone', async () => {
    await page.show(
      `<div id="target" style="position:absolute;left:100px;top:100px;width:100px;height:100px">
         <p style="position:absolute;z-index:2;inset:0;margin:0"></p>
       </div>
       ${box('between', 100, 100, 100, 100, 'position:absolute; z-index: 1')}`,
    );
    await clear();
    expect((await page.read(readStyles))['between']).toBe('');
  });

  test('checks 20,000 elements, also those below others', async () => {
    await page.show(
      `<main id="target" style="position:absolute;left:0;top:0;width:100px;height:100px"></main>
       <div id="last" class="cover"></div><div id="more" class="cover"></div>`,
      '<style>.cover { position: absolute; left: 0; top: 0; width: 100px; height: 100px } s { display: none }</style>',
    );
    await page.read(() => {
      const before = document.querySelectorAll('*').length - 1;
      const fillers = Array.from({ length: 20_000 - before }, () => document.createElement('s'));
      document.querySelector('#last')?.before(...fillers);
    });
    await clear();
    const styles = await page.read(readStyles);
    expect([styles['last'], styles['more']]).toEqual([hidden, '']);
  });

  test('passes over elements that cannot have a style, and keeps the style sheets of the page', async () => {
    await page.show(
      `<div id="target" style="position:absolute;left:0;top:0;width:100px;height:100px"></div>
       ${box('cover', 0, 0, 100, 100)}
       <style>foreign { position: absolute; left: 0; top: 0; width: 100px; height: 100px }</style>
       <script>
         cover.before(document.createElementNS('urn:other', 'foreign'));
         document.adoptedStyleSheets.push(new CSSStyleSheet());
       </script>`,
    );
    expect(await clear()).toMatchObject({ sheets: 1 });
    expect((await page.read(readStyles))['cover']).toBe(hidden);
  });

  test('hides only fixed and sticky elements in the padding', async () => {
    const target = '<div id="target" style="position:absolute;left:100px;top:100px;width:100px;height:100px"></div>';
    await page.show(
      `${target} ${box('static', 150, 205, 20, 20)} ${box('right', 205, 150, 20, 20, 'position:fixed')}
       ${box('below', 150, 205, 20, 20, 'position:fixed')} ${box('left', 75, 150, 20, 20, 'position:fixed')}
       ${box('above', 150, 75, 20, 20, 'position:fixed')} ${box('far', 215, 100, 20, 20, 'position:fixed')}
       ${box('ghost', 205, 180, 20, 20, 'position:fixed; visibility:hidden')}
       <div style="position:absolute;left:90px;top:90px;width:9px;height:9px"><div id="sticky"></div></div>
       <style>#sticky { position: sticky; top: 0; height: 9px }</style>`,
    );
    await clear(0);
    expect(Object.values(await page.read(readStyles)).filter((style) => style === hidden)).toEqual([]);
    await clear(10);
    const styles = await page.read(readStyles);
    expect(Object.keys(styles).filter((id) => styles[id] === hidden)).toEqual([
      'right',
      'below',
      'left',
      'above',
      'sticky',
    ]);
    // A target that its frame clips completely is captured, too, with its padding.
    await page.show(`<i id="target"></i>${box('fixed', 150, 105, 20, 3, 'position:fixed')}`);
    await page.read(() => {
      const target = document.querySelector('#target') as Element;
      clearView({ document, view: window, target }, () => new DOMRect(100, 100, 100, 0), 10);
    }, helpers);
    expect((await page.read(readStyles))['fixed']).toBe(hidden);
  });

  test('closes the top layer unless it contains the target, and looks into shadow roots', async () => {
    await page.show(
      `<div id="target" style="position:absolute;left:0;top:0;width:600px;height:400px"></div>
       <dialog id="modal">question</dialog><p id="hint" popover="manual">hint</p><p id="closed" popover></p><div id="host"></div>
       <script>
         host.attachShadow({ mode: 'open' }).innerHTML = '<i style="position:fixed;inset:0;pointer-events:none"></i>';
         hint.showPopover(); modal.showModal();
       </script>`,
    );
    await clear();
    const gone = 'transition: none !important; display: none !important;';
    expect(await page.read(readStyles)).toMatchObject({ modal: gone, hint: gone, closed: '' });
    const [isOpen, cover, sheets] = await page.read(() => {
      const root = document.querySelector('#host')?.shadowRoot;
      const cover = root?.querySelector('i');
      return [document.querySelector('dialog')?.open, cover?.style.opacity, root?.adoptedStyleSheets.length];
    });
    expect([isOpen, cover, sheets]).toEqual([false, '0', 0]);
    await page.show('<dialog id="modal"><div id="target">text</div></dialog><script>modal.showModal()</script>');
    await clear();
    expect(await page.read(readStyles)).toEqual({ modal: '', target: '' });
  });
});

describe('openBoxes', () => {
  const open = () =>
    page.read(
      () => openBoxes({ document, view: window, target: document.querySelector('#target') as Element }),
      helpers,
    );
  const opened = 'overflow: visible !important;';

  test('opens boxes that clip the target at any side, and keeps margins inside', async () => {
    const inside = '<div class="target" style="position:absolute;width:100px;height:100px"></div>';
    const cases = ['left:-2px', 'top:-2px', 'left:2px', 'top:2px', 'left:-1px;top:-1px', 'left:1px;top:1px'];
    for (const [index, place] of cases.entries()) {
      await page.show(
        `<div id="box" class="box">${inside.replace('class="target"', 'id="target"').replace('width', `${place};width`)}</div>
         <style>.box { position: relative; overflow: hidden; width: 100px; height: 100px }</style>`,
      );
      expect(await open(), place).toBe(index < 4);
      const styles = await page.read(readStyles);
      expect(styles['box'], place).toBe(index < 4 ? `${opened} display: flow-root !important;` : '');
    }
  });

  test('opens boxes that clip in one direction, keeps other displays, and leaves the viewport and open boxes alone', async () => {
    await page.show(
      `<div id="x"><div id="flex"><div id="none"><div id="target"></div></div></div></div>
       <style>html, body { overflow: hidden; height: 10px } body { overflow: visible }
         #target { width: 2000px; height: 2000px } #x { overflow-x: clip; width: 50px } #flex { display: flex; overflow-y: clip; height: 50px; flex: none }
         #none { display: block; width: 10px; height: 10px; flex: none }</style>`,
    );
    expect(await open()).toBe(true);
    expect(await page.read(readStyles)).toEqual({
      x: `${opened} display: flow-root !important;`,
      flex: opened,
      none: '',
      target: '',
    });
    expect(await open()).toBe(false);
    expect(await page.read(() => document.documentElement.getAttribute('style'))).toBeNull();
  });

  test('opens a body only if the root has an overflow too', async () => {
    const styles = 'body { overflow: hidden; height: 10px } #target { height: 100px }';
    await page.show('<div id="target"></div>', `<style>${styles}</style>`);
    expect(await open()).toBe(false);
    await page.show('<div id="target"></div>', `<style>${styles} html { overflow: hidden }</style>`);
    expect(await open()).toBe(true);
  });
});
