// @module-tag long
// @module-tag page-script
/// <reference lib="dom" />
import type { ExtractFields } from '@webcapture/shared/api/extract-fields.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseFields } from '../../../services/renderer/page/extract.ts';
import { type FieldLimits, readFields } from '../../../services/renderer/page/scripts/fields.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import * as walking from '../../../services/renderer/page/scripts/walking.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [...selecting, walking.readerOf, walking.walkPage, walking.withoutControls, walking.writeText];
const noUrl = 'http://supplied.test/';

/** Reads fields of the page that is shown. */
const readShown = (wanted: ExtractFields, limits: Partial<FieldLimits> = {}) =>
  page.call(
    readFields,
    [parseFields(wanted), { maxBytes: 100_000, maxMs: 60_000, maxItems: 1000, noUrl, ...limits }],
    helpers,
  );

async function read(body: string, wanted: ExtractFields) {
  await page.show(body);
  const found = await readShown(wanted);
  expect(found).toMatchObject({ isWhole: true });
  return 'fields' in found ? found.fields : found;
}

const shop = `<ul><li class="item" data-id="1"><h2>One <b>and</b> more</h2><a href="/1?a=b c">see</a><p class="tag">red</p><p class="tag">blue</p></li>
  <li class="item"><h2>Two</h2></li></ul><p class="tag">other</p>`;

test('readFields reads the text of the first match, an attribute, lists and nested fields', async () => {
  const fields = await read(shop, {
    first: 'h2',
    none: 'h3',
    noneListed: { selector: 'h3', list: true },
    id: { selector: '.item', attribute: 'data-id' },
    ids: { selector: '.item', attribute: 'DATA-ID', list: true },
    items: {
      selector: '.item',
      list: true,
      fields: {
        name: 'h2',
        id: { attribute: 'data-id' },
        url: { selector: 'a', attribute: 'href' },
        tags: { selector: '.tag', list: true },
        inner: { selector: ':scope > a', fields: { label: {}, direct: ':scope > .tag', after: 'ul a + .tag' } },
      },
    },
    card: { selector: '.item', fields: { name: 'h2' } },
    noCard: { selector: '.card', fields: { name: 'h2' } },
    language: { attribute: 'lang' },
  });
  expect(fields).toEqual({
    first: 'One and more',
    none: null,
    noneListed: [],
    id: '1',
    ids: ['1', null],
    items: [
      {
        name: 'One and more',
        id: '1',
        url: 'http://page.test/1?a=b%20c',
        tags: ['red', 'blue'],
        inner: { label: 'see', direct: null, after: null },
      },
      { name: 'Two', id: null, url: null, tags: [], inner: null },
    ],
    card: { name: 'One and more' },
    noCard: null,
    language: null,
  });
  expect(Object.keys(fields).slice(0, 3)).toEqual(['first', 'none', 'noneListed']);
});

test('texts are those that can be seen, or else the whole text of the element', async () => {
  const body = `<div id="a">a<p>b</p><i hidden>c</i></div><div id="d" hidden> d<b>e </b></div><script id="f" type="application/json">
    {"g":  1}</script><div id="h"></div><div id="i" style="display:none"><i id="j">j</i></div>`;
  const wanted = { title: 'title', a: '#a', d: '#d', f: '#f', h: '#h', j: '#j' };
  expect(await read(body, wanted)).toEqual({
    title: 'Test',
    a: 'a\n\nb',
    d: 'de',
    f: '{"g":  1}',
    h: '',
    j: 'j',
  });
});

test('href and src are absolute, and null for what has no address', async () => {
  const body = `<img src="a.png"><img src="data:,x"><a HREF="//b.test">x</a><a href="javascript:x">x</a><a href="http://["></a><a href="${noUrl}#c">c</a>
    <form action="/d"></form>`;
  const fields = await read(body, {
    images: { selector: 'img', attribute: 'src', list: true },
    links: { selector: 'a', attribute: 'HREF', list: true },
    action: { selector: 'form', attribute: 'action' },
  });
  expect(fields).toEqual({
    images: ['http://page.test/a.png', 'data:,x'],
    links: ['http://b.test/', 'javascript:x', 'http://[', null],
    action: '/d',
  });
});

test('selectors also match in open shadow roots, from the document and from an element', async () => {
  const body = `<my-list><template shadowrootmode="open"><my-item><template shadowrootmode="open"><b>one</b></template></my-item>
    <my-item><template shadowrootmode="open"><b>two</b></template></my-item></template></my-list>
    <div><template shadowrootmode="closed"><b>closed</b></template></div><form><input name="querySelectorAll"><input name="textContent"><b>form</b></form>`;
  const fields = await read(body, {
    all: { selector: 'b', list: true },
    crossing: { selector: 'my-list > my-item b', list: true },
    items: { selector: 'my-item', list: true, fields: { label: 'b' } },
    form: { selector: 'form', fields: { label: 'b' } },
  });
  expect(fields).toEqual({
    all: ['one', 'two', 'form'],
    crossing: ['one', 'two'],
    items: [{ label: 'one' }, { label: 'two' }],
    form: { label: 'form' },
  });
});

test('readFields names the first field whose selector the browser does not support, also if it is not reached', async () => {
  await page.show('<p>a</p>');
  const unknown = 'p:some-day(now)';
  expect(await readShown({ a: 'p', b: { selector: 'h1', fields: { c: 'p', d: { selector: unknown } } } })).toEqual({
    refused: ['b', 'fields', 'd'],
  });
  expect(await readShown({ a: unknown, b: unknown })).toEqual({ refused: ['a'] });
});

test('readFields reads a document without a root', async () => {
  await page.show('<p>a</p>');
  await page.read(() => document.documentElement.remove());
  const wanted = { a: 'p', b: {}, c: { attribute: 'lang' } };
  expect(await readShown(wanted)).toEqual({ fields: { a: null, b: null, c: null }, isWhole: true });
});

describe('limits', () => {
  const many = { all: { selector: 'p', list: true }, last: 'p' };

  test('a list ends at the maximum number of elements, and other fields are read', async () => {
    await page.show('<p>a</p><p>b</p>');
    expect(await readShown(many, { maxItems: 2 })).toEqual({
      fields: { all: ['a', 'b'], last: 'a' },
      isWhole: true,
    });
    expect(await readShown(many, { maxItems: 1 })).toEqual({ fields: { all: ['a'], last: 'a' }, isWhole: false });
  });

  test.each([
    ['texts', '<p>é"\n</p>', { a: { selector: 'p', list: true } }],
    ['objects', '<p>text</p>', { a: { selector: 'p', list: true, fields: { b: {}, c: 'i' } } }],
    ['fields', '<p>text</p>', { a: 'p', b: 'p', cc: 'i', d: { selector: 'p', fields: { e: {} } } }],
  ] satisfies [string, string, ExtractFields][])(
    'the JSON of %s never exceeds the maximum size',
    async (_what, body, wanted) => {
      await page.show(body.repeat(5));
      const whole = await readShown(wanted);
      const size = 'fields' in whole ? Buffer.byteLength(JSON.stringify(whole.fields)) : 0;
      for (let maxBytes = 0; maxBytes <= size; maxBytes += 3) {
        const cut = await readShown(wanted, { maxBytes });
        if ('refused' in cut) throw new Error('a selector was refused');
        expect(Buffer.byteLength(JSON.stringify(cut.fields))).toBeLessThanOrEqual(Math.max(2, maxBytes));
      }
      expect(await readShown(wanted, { maxBytes: 10 })).toMatchObject({ isWhole: false });
      expect(await readShown(wanted, { maxBytes: size + 50 })).toEqual(whole);
    },
  );

  test('a text that is too large is left out, with all that follows', async () => {
    await page.show(`<p>a</p><b>${'x'.repeat(200)}</b>`);
    const wanted = { a: 'p', b: 'b', c: 'p' };
    expect(await readShown(wanted, { maxBytes: 100 })).toEqual({ fields: { a: 'a' }, isWhole: false });
  });

  test('nothing is read after the time limit', async () => {
    await page.show('<p>a</p>');
    expect(await readShown({ a: 'p' }, { maxMs: -1 })).toEqual({ fields: {}, isWhole: false });
  });
});
