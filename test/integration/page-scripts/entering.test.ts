// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { boxing } from '../../../services/renderer/page/scripts/boxes.ts';
import * as entering from '../../../services/renderer/page/scripts/entering.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import * as clock from '../../harness/page-clock.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const enterText: typeof entering.enterText;
declare const focusElement: typeof entering.focusElement;
declare const useClock: typeof clock.useClock;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const { chooseOption, scrollElement } = entering;
type Parts = ReturnType<typeof parseSelector>;
const helpers = [...selecting, ...boxing, ...entering.entering];
const origin = 'http://page.test';

const focus = (selector: string) => page.call(entering.focusElement, [parseSelector(selector), 0], helpers);
const enter = (selector: string, text: string, ofOrigin = origin) =>
  page.call(entering.enterText, [parseSelector(selector), text, ofOrigin, 0], helpers);
const choose = (selector: string, value: string, ofOrigin = origin) =>
  page.call(chooseOption, [parseSelector(selector), value, ofOrigin, 0], helpers);

const valueOf = (selector: string) =>
  page.call((css: string) => document.querySelector<HTMLInputElement>(css)?.value, [selector]);
const focused = () => page.read(() => document.activeElement?.id);

/** Notes events of the page that reach the document. */
const noteEvents = () =>
  page.read(() => {
    document.body.dataset['events'] = '';
    for (const type of ['input', 'change'])
      document.addEventListener(type, (event) => {
        document.body.dataset['events'] += `${type}${event.composed ? ' composed' : ''}, `;
      });
  });
const events = () => page.read(() => document.body.dataset['events']);

describe('focusElement', () => {
  test.each([
    ['an input', '<input id="x">', 'done', 'x'],
    ['a disabled button', '<button id="x" disabled>a</button>', 'unfocusable', ''],
    ['a paragraph', '<p id="x">a</p>', 'unfocusable', ''],
    ['an editable element', '<div id="x" contenteditable>a</div>', 'done', 'x'],
    ['an element in an editable one', '<div id="around" contenteditable><b id="x">a</b></div>', 'done', 'around'],
    ['a field in an element that is not editable', '<div contenteditable="false"><input id="x"></div>', 'done', 'x'],
    [
      'an element that is not editable, in an editable one',
      '<div contenteditable><b id="x" contenteditable="FALSE">a</b></div>',
      'unfocusable',
      '',
    ],
    ['an inert input', '<input id="x" inert>', 'unfocusable', ''],
    ['an input without a box', '<input id="x" hidden>', 'missing', ''],
    ['the first visible match', '<i id="x" hidden></i><input id="x">', 'done', 'x'],
  ])('returns whether %s takes the focus', async (_, body, used, id) => {
    await page.show(body);
    expect([await focus('#x'), await focused()]).toEqual([used, id]);
  });

  test('focuses an element in a shadow root', async () => {
    await page.show('<div id="host"><template shadowrootmode="open"><input></template></div>');
    expect([await focus('input'), await focused()]).toEqual(['done', 'host']);
  });

  test('focuses an element in a visible frame', async () => {
    await page.show('<iframe hidden srcdoc="<input>"></iframe><iframe id="shown" srcdoc="<input>"></iframe>');
    expect([await focus('iframe >> input'), await focused()]).toEqual(['done', 'shown']);
  });

  test('scrolls the element to the center of the viewport', async () => {
    await page.show(
      `<div contenteditable style="width:5000px;height:5000px">a<input style="position:absolute;left:2000px;top:3000px;width:100px;height:20px;box-sizing:border-box;margin:0"></div>`,
    );
    expect(await focus('input')).toBe('done');
    expect(await page.read(() => [scrollX, scrollY])).toEqual([2050 - 320, 3010 - 240]);
    await page.show(
      `<div contenteditable style="width:5000px;height:5000px">a<b style="position:absolute;left:2000px;top:3000px;width:100px;height:20px"></b></div>`,
    );
    expect(await focus('b')).toBe('done');
    expect(await page.read(() => [scrollX, scrollY])).toEqual([2050 - 320, 3010 - 240]);
  });

  test('looks for the element every 100 ms until the time is over', async () => {
    /** Returns the result, and the time that it took. The input has a box from `appearsMs` on. */
    const waited = async (timeoutMs: number, appearsMs: number) => {
      await page.show('<input hidden>');
      return page.call(
        async (timeout: number, appears: number, parts: Parts) => {
          const passed = useClock((ms) => {
            if (ms >= appears) document.querySelector('input')?.removeAttribute('hidden');
          });
          return [await focusElement(parts, timeout), passed()];
        },
        [timeoutMs, appearsMs, parseSelector('input')] as const,
        [...helpers, entering.focusElement, clock.useClock],
      );
    };
    expect(await waited(1000, 250)).toEqual(['done', 300]);
    expect(await waited(300, 5000)).toEqual(['missing', 300]);
    expect(await waited(301, 5000)).toEqual(['missing', 400]);
    expect(await waited(0, 5000)).toEqual(['missing', 0]);
  });
});

describe('enterText', () => {
  test.each([
    ['text', 'new'],
    ['search', 'new'],
    ['email', 'a@b.test'],
    ['password', 'new'],
    ['tel', '1'],
    ['url', 'http://a.test/'],
    ['number', '12'],
    ['color', '#ff0000'],
    ['date', '2026-01-02'],
    ['datetime-local', '2026-01-02T03:04'],
    ['month', '2026-01'],
    ['range', '7'],
    ['time', '03:04'],
    ['week', '2026-W05'],
  ])('replaces the value of an input of the type %s', async (type, text) => {
    await page.show(`<input id="x" type="${type}" value="1">`);
    await noteEvents();
    expect(await enter('input', text)).toBe('done');
    expect([await valueOf('input'), await focused()]).toEqual([text, 'x']);
    expect(await events()).toMatch(/^input composed, (?:change, )?$/);
  });

  test.each(['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week'])(
    'fires the events of a changed value for the type %s, and refuses values that this type cannot have',
    async (type) => {
      await page.show(`<input type="${type}">`);
      await noteEvents();
      expect(await enter('input', 'x')).toBe('invalid');
      expect(await events()).toBe('');
      expect(await enter('input', (await valueOf('input')) ?? '')).toBe('done');
      expect(await events()).toBe('input composed, change, ');
    },
  );

  const refusals: readonly (readonly [what: string, html: string, used: string])[] = [
    ['a paragraph', '<p>a</p>', 'noField'],
    ['a select element', '<select><option>a</select>', 'noField'],
    ...['button', 'checkbox', 'file', 'image', 'radio', 'reset', 'submit'].map(
      (type) => [`an input of the type ${type}`, `<input type="${type}" value="a">`, 'noField'] as const,
    ),
    ['a disabled input', '<input disabled>', 'disabled'],
    ['a textarea in a disabled group', '<fieldset disabled><textarea></textarea></fieldset>', 'disabled'],
    ['a read-only input', '<input readonly>', 'readOnly'],
    ['a read-only input of a formatted type', '<input type="date" readonly>', 'readOnly'],
    ['an inert input', '<input inert>', 'unfocusable'],
    ['an input that becomes read-only on focus', '<input value="a" onfocus="this.readOnly = true">', 'invalid'],
    ['a field for numbers', '<input type="number">', 'invalid'],
    ['an element that is not there', '<br>', 'missing'],
  ];
  test.each(refusals)('returns why it cannot enter text into %s', async (_, body, used) => {
    await page.show(body);
    expect(await enter('p, select, input, textarea', 'x')).toBe(used);
  });

  test('replaces the content of a textarea and of an editable element, and of nothing else', async () => {
    await page.show(
      '<textarea>old</textarea><p>before</p><div contenteditable><b>o</b>ld</div><data contenteditable>old</data><p>after</p>',
    );
    expect(await enter('textarea', 'a\nb')).toBe('done');
    expect(await enter('div', 'new')).toBe('done');
    expect(await enter('data', 'new')).toBe('done');
    const seen = await page.read(() => [...document.body.children].map(({ textContent }) => textContent));
    expect([await valueOf('textarea'), ...seen]).toEqual(['a\nb', 'old', 'before', 'new', 'new', 'after']);
  });

  test('empties a field', async () => {
    await page.show('<input value="old"><div contenteditable>old</div>');
    await page.read(() =>
      document.addEventListener('input', (event) => (document.title = (event as InputEvent).inputType)),
    );
    for (const selector of ['input', 'input', 'div']) expect(await enter(selector, '')).toBe('done');
    expect([await valueOf('input'), await page.read(() => document.querySelector('div')?.textContent)]).toEqual([
      '',
      '',
    ]);
    expect(await page.read(() => document.title)).toBe('deleteContentBackward');
  });

  test('enters nothing if the document has another origin', async () => {
    await page.show('<input value="old">');
    expect(await enter('input', 'new', 'http://other.test')).toBe('elsewhere');
    expect(await valueOf('input')).toBe('old');
    const took = await page.call(
      async (parts: Parts) => {
        const passed = useClock();
        await enterText(parts, 'new', 'http://other.test', 1000);
        return passed();
      },
      [parseSelector('input')],
      [...helpers, entering.enterText, clock.useClock],
    );
    expect(took).toBe(0);
  });
});

describe('chooseOption', () => {
  const select =
    '<select id="x"><option value="1">one</option><option value="one">two</option><option>three</option></select>';

  test.each([
    ['by its value', 'one', 'one'],
    ['by its label, if no value is equal', 'two', 'one'],
    ['by its text, which is its value', 'three', 'three'],
  ])('chooses an option %s', async (_, value, chosen) => {
    await page.show(select);
    await noteEvents();
    expect(await choose('select', value)).toBe('done');
    expect([await valueOf('select'), await focused(), await events()]).toEqual([
      chosen,
      'x',
      'input composed, change, ',
    ]);
  });

  test('chooses one option of several', async () => {
    await page.show(
      '<select multiple><option selected>a</option><option>b</option><option selected>c</option></select>',
    );
    expect(await choose('select', 'b')).toBe('done');
    const chosen = await page.read(() =>
      [...(document.querySelector('select')?.selectedOptions ?? [])].map(({ value }) => value),
    );
    expect(chosen).toEqual(['b']);
  });

  test.each([
    ['an element that is not a select element', '<p>a</p>', 'noSelect'],
    ['a disabled select element', '<select disabled><option>a</select>', 'disabled'],
    ['a select element without the option', '<select><option>b</select>', 'noOption'],
    ['a disabled option', '<select><option>b<option disabled>a</select>', 'noOption'],
    ['a disabled group of options', '<select><option>b<optgroup disabled><option>a</select>', 'noOption'],
  ])('returns why it cannot choose an option of %s', async (_, body, used) => {
    await page.show(body);
    await noteEvents();
    expect(await choose('p, select', 'a')).toBe(used);
    expect(await events()).toBe('');
  });

  test('chooses nothing if the document has another origin', async () => {
    await page.show(select);
    expect(await choose('select', 'three', 'http://other.test')).toBe('elsewhere');
    expect(await valueOf('select')).toBe('1');
  });
});

describe('scrollElement', () => {
  const scroll = async (selector: string | null, to: Parameters<typeof scrollElement>[1], isInside: boolean) => {
    const parts = selector === null ? null : parseSelector(selector);
    const used = await page.call(scrollElement, [parts, to, isInside, 0], helpers);
    return [used, ...(await page.read(() => [scrollY, document.querySelector('main')?.scrollTop]))];
  };
  const body = `<main style="height:100px;overflow:auto"><p style="height:300px;margin:0"></p></main>
    <div style="height:1880px"></div><b style="display:block;height:20px"></b>`;
  const smooth = '<style>* { scroll-behavior: smooth }</style>';

  test('scrolls the page, or the content of an element', async () => {
    await page.show(body, smooth);
    expect(await scroll(null, { by: 150 }, true)).toEqual(['done', 150, 0]);
    expect(await scroll(null, { by: -50 }, true)).toEqual(['done', 100, 0]);
    expect(await scroll(null, {}, true)).toEqual(['done', 100, 0]);
    expect(await scroll(null, { to: 'bottom' }, true)).toEqual(['done', 2000 - 480, 0]);
    expect(await scroll(null, { to: 'top' }, true)).toEqual(['done', 0, 0]);
    expect(await scroll('main', { by: 50 }, true)).toEqual(['done', 0, 50]);
    expect(await scroll('main', { to: 'bottom' }, true)).toEqual(['done', 0, 200]);
    expect(await scroll('main', { to: 'top' }, true)).toEqual(['done', 0, 0]);
  });

  test('scrolls an element to the center of the viewport', async () => {
    await page.show(body + body, smooth);
    expect(await scroll('b', {}, false)).toEqual(['done', 1990 - 240, 0]);
    expect(await scroll('nav', {}, false)).toEqual(['missing', 1990 - 240, 0]);
  });

  test('scrolls the root of a document in quirks mode whose body scrolls', async () => {
    await page.show('');
    await page.page.evaluate(() => {
      document.open();
      document.write('<html style="overflow:auto"><body style="overflow:auto"><div style="height:900px">');
      document.close();
    });
    const looks = await page.read(() => [document.compatMode, document.scrollingElement]);
    expect(looks).toEqual(['BackCompat', null]);
    expect((await scroll(null, { by: 50 }, true))[0]).toBe('done');
  });
});
