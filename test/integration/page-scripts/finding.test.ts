// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import { parseSelector } from '@webcapture/shared/api/selector.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { boxing } from '../../../services/renderer/page/scripts/boxes.ts';
import * as script from '../../../services/renderer/page/scripts/finding.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import type { PageWaits } from '../../../services/renderer/page/scripts/waits.ts';
import { foreign, type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const untilFound: typeof script.untilFound;
declare const waits: PageWaits;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [...selecting, ...boxing];
const inFrame = (attributes: string, content: string) =>
  `<iframe ${attributes} srcdoc="${content.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></iframe>`;

describe('describeSearch', () => {
  const search = (selector: string) => page.call(script.describeSearch, [parseSelector(selector)], helpers);
  const nothing = { kind: 'elements', matches: 0, documents: 1, shadowRoots: 0, frames: 0, inFrame: null };

  test('counts what was searched, and names nested frames that contain a match', async () => {
    const inner = inFrame('name="inner"', '<p class="x">text</p>');
    await page.show(
      `<b hidden>text</b><b hidden>text</b><div id="host"></div><object></object>
       ${inFrame('id="empty"', '<i></i>')} ${inFrame('id="outer"', `<div id="shadow">x</div>${inner}`)}
       <script>host.attachShadow({ mode: 'open' }).innerHTML = '<u></u>'</script>`,
    );
    expect(await search('b')).toEqual({ ...nothing, matches: 2, shadowRoots: 1, frames: 3 });
    const path = ['iframe#outer', 'iframe[name="inner"]'];
    expect(await search('.x')).toEqual({ ...nothing, shadowRoots: 1, frames: 3, inFrame: path });
    expect(await search('.y')).toEqual({ ...nothing, shadowRoots: 1, frames: 3 });
    expect(await search('#outer >> .x')).toEqual({ ...nothing, frames: 1, inFrame: path.slice(1) });
    expect(await search('iframe >> em')).toMatchObject({ documents: 2, frames: 1 });
  });

  test('names a frame by the first attribute that a selector can contain', async () => {
    for (const [attributes, name] of [
      ['id="a-b_1" name="n"', 'iframe#a-b_1'],
      ['id="1a"', 'iframe[id="1a"]'],
      ['id="a:b"', 'iframe[id="a:b"]'],
      ['id="A" src="about:blank"', 'iframe#A'],
      ['id="a b" name="a&quot;" src="about:blank?a=1&b=%20"', 'iframe[src="about:blank?a=1&b=%20"]'],
      ['id="" name="outer"', 'iframe[name="outer"]'],
      [`name="${'x'.repeat(100)}"`, `iframe[name="${'x'.repeat(100)}"]`],
      [`name="${'x'.repeat(101)}"`, 'iframe'],
      ['name="a$"', 'iframe'],
      ['name="$a"', 'iframe'],
      ['', 'iframe'],
    ] as const) {
      await page.show(inFrame(attributes, '<p>text</p>'));
      expect(await search('p'), attributes).toMatchObject({ inFrame: [name] });
    }
  });

  test('names an object by its data', async () => {
    await page.show('<object data="about:blank" type="text/html"></object>');
    await page.read(() => {
      const inner = document.querySelector('object')?.contentDocument;
      inner?.body.append(inner.createElement('p'));
    });
    expect(await search('p')).toMatchObject({ inFrame: ['object[data="about:blank"]'] });
  });

  test('does not look into frames if hidden elements match', async () => {
    await page.show(`<p hidden>text</p>${inFrame('', '<p>text</p>')}`);
    expect(await search('p')).toEqual({ ...nothing, matches: 1, frames: 1 });
  });

  test('looks for a match in at most 100 frames', async () => {
    const withFrames = async (count: number, last: string, first = '') => {
      await page.show(
        `<script>for (let count = 1; count <= ${count}; count += 1) {
           const frame = document.body.appendChild(document.createElement('iframe'));
           frame.contentDocument.body.innerHTML = count === ${count} ? '${last}' : count === 1 ? '${first}' : '';
           if (count === 1 && '${first}') frame.contentDocument.querySelector('iframe').contentDocument.body.innerHTML = '<p>';
         }</script>`,
      );
      return (await search('p')) as { readonly frames: number; readonly inFrame: unknown };
    };
    expect(await withFrames(101, '<p>')).toMatchObject({ frames: 100, inFrame: null });
    expect((await withFrames(99, '', '<iframe>')).inFrame).toEqual(['iframe', 'iframe']);
    expect((await withFrames(100, '', '<iframe>')).inFrame).toBeNull();
  });

  test('says which part before the last one matches no frame that can be searched', async () => {
    await page.show(`<b></b><iframe id="far" src="${foreign.frame}"></iframe>${inFrame('id="near"', '<i></i>')}`);
    expect(await search('u >> p')).toEqual({ kind: 'none', part: 0 });
    expect(await search('#near >> u >> p')).toEqual({ kind: 'none', part: 1 });
    expect(await search('b >> p')).toEqual({ kind: 'noFrame', part: 0 });
    expect(await search('#near >> i >> p')).toEqual({ kind: 'noFrame', part: 1 });
    expect(await search('#far >> p')).toEqual({ kind: 'unreadable', part: 0 });
    expect(await search('iframe >> p')).toEqual({ ...nothing });
    expect(await search('b, iframe >> p')).toEqual({ ...nothing });
  });
});

describe('untilFound', () => {
  const find = (
    { selector, ...sought }: Omit<script.Sought, 'parts'> & { readonly selector?: string },
    timeoutMs = 0,
  ) =>
    page.call(
      script.untilFound,
      [selector === undefined ? sought : { ...sought, parts: parseSelector(selector) }, timeoutMs],
      helpers,
    );

  test('finds elements by their state', async () => {
    await page.show(
      `<p>text</p><b hidden>text</b><u>text</u><u hidden>text</u>
       ${inFrame('id="lazy" hidden loading="LAZY"', '<i>text</i>')} <iframe id="far" src="${foreign.frame}"></iframe>`,
    );
    const states = ['visible', 'hidden', 'attached'] as const;
    const all = async (selector: string) => Promise.all(states.map((state) => find({ selector, state })));
    expect(await all('p')).toEqual(['found', 'missed', 'found']);
    expect(await all('b')).toEqual(['missed', 'found', 'found']);
    expect(await all('u')).toEqual(['found', 'missed', 'found']);
    expect(await all('em')).toEqual(['missed', 'found', 'missed']);
    expect(await all('#far >> p')).toEqual(['missed', 'missed', 'missed']);
    expect(await all('p:nope')).toEqual(['refused', 'refused', 'refused']);
  });

  test('loads lazy frames that the search covers, and searches in hidden ones only for attached elements', async () => {
    await page.show(
      `<div style="height:9000px"></div>${inFrame('id="lazy" loading="LAZY"', '<i>text</i>')}${inFrame('id="hidden" hidden', '<i>text</i>')}`,
    );
    const loading = () => page.read(() => document.querySelector('#lazy')?.getAttribute('loading'));
    expect(await find({ selector: '#hidden >> i', state: 'visible' })).toBe('missed');
    expect(await loading()).toBe('LAZY');
    expect(await find({ selector: '#lazy >> i', state: 'visible' }, 5000)).toBe('found');
    expect(await loading()).toBe('eager');
    await page.show(`<iframe hidden name="in"></iframe>
      <script>document.querySelector('iframe').contentDocument.body.innerHTML = '<i>text</i>'</script>`);
    expect(await find({ selector: 'iframe >> i', state: 'attached' })).toBe('found');
    expect(await find({ selector: 'iframe >> i', state: 'hidden' })).toBe('found');
    expect(await page.read(() => document.querySelector('iframe')?.hasAttribute('loading'))).toBe(false);
  });

  test('finds a text by its state, also in open shadow roots', async () => {
    await page.show(
      `<p>One   <b>Two</b></p><p hidden>Three</p><div id="host"></div><div id="away" hidden></div>
       <script>
         host.attachShadow({ mode: 'open' }).innerHTML = '<p>Four</p><p>Five</p><p hidden>Six</p>';
         away.attachShadow({ mode: 'open' }).innerHTML = '<p>Seven</p>';
       </script>`,
    );
    const all = (text: string) =>
      Promise.all((['visible', 'hidden', 'attached'] as const).map((state) => find({ text, state })));
    for (const text of ['  one\n two ', 'FOUR', 'four five'])
      expect(await all(text), text).toEqual(['found', 'missed', text.includes(' f') ? 'missed' : 'found']);
    for (const text of ['three', 'six', 'seven']) expect(await all(text), text).toEqual(['missed', 'found', 'found']);
    expect(await all('eight')).toEqual(['missed', 'found', 'missed']);
    await page.show('<b>Nine</b><b>Ten</b>');
    expect(await all('nineten')).toEqual(['found', 'missed', 'found']);
    expect(await all('nine ten')).toEqual(['missed', 'found', 'missed']);
    // The title of the document.
    expect(await all('test')).toEqual(['missed', 'found', 'missed']);
  });

  test('finds no text in a document without HTML', async () => {
    await page.show('');
    await page.read(() => {
      document.documentElement.replaceWith(document.createElementNS('http://www.w3.org/2000/svg', 'svg'));
    });
    expect(await find({ text: 'text', state: 'visible' })).toBe('missed');
    expect(await find({ text: 'text', state: 'hidden' })).toBe('found');
  });

  test('throws errors that have another cause than the selector', async () => {
    await page.show('<p>text</p>');
    await page.read(() => {
      document.createDocumentFragment = () => {
        throw new TypeError('broken');
      };
    });
    await expect(find({ selector: 'p', state: 'visible' })).rejects.toThrow('broken');
  });

  test('searches every 50 ms, spends at most a quarter of the time on it, and searches once more at the limit', async () => {
    await page.show('<p>text</p>');
    const pausesOf = (lookMs: number, timeoutMs: number) =>
      page.call(
        async (ms: number, limitMs: number) => {
          const pauses: number[] = [];
          let now = 0;
          performance.now = () => (now += ms);
          Object.assign(waits, {
            sleep: async (pause: number) => {
              pauses.push(pause);
              now += pause;
            },
          });
          await untilFound({ text: 'other', state: 'visible' }, limitMs);
          return pauses;
        },
        [lookMs, timeoutMs],
        [...helpers, script.untilFound],
      );
    expect(await pausesOf(0, 120)).toEqual([50, 50, 20]);
    expect(await pausesOf(20, 400)).toEqual([80, 80, 80]);
  });

  test('waits until the limit, and finds elements that appear during the wait', async () => {
    await page.show(`<script>setTimeout(() => (document.body.innerHTML += '<p>late</p>'), 200)</script>`);
    const started = performance.now();
    expect(await find({ selector: 'b', state: 'visible' }, 150)).toBe('missed');
    expect(performance.now() - started).toBeGreaterThanOrEqual(149);
    expect(await find({ selector: 'p', state: 'visible' }, 20_000)).toBe('found');
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
