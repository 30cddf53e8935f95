/// <reference lib="dom" />
import { extractNames } from '@webcapture/shared/api/formats.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { extractParts } from '../../../services/renderer/page/scripts/extraction.ts';
import { writeMarkdown } from '../../../services/renderer/page/scripts/markdown.ts';
import { selecting } from '../../../services/renderer/page/scripts/selecting.ts';
import * as walking from '../../../services/renderer/page/scripts/walking.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const walkPage: typeof walking.walkPage;
declare const writeText: typeof walking.writeText;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const walkers = [walking.readerOf, walking.walkPage, walking.withoutControls, walking.writeText];
const helpers = [...selecting, ...walkers, writeMarkdown];
const noUrl = 'http://supplied.test/';

/** Extracts from a document whose root has these contents. */
async function extract(
  names: Parameters<typeof extractParts>[0],
  { head = '', body = '', maxBytes = 100_000, maxMs = 60_000 },
) {
  await page.show(body, head);
  return page.call(extractParts, [names, { maxBytes, maxMs, noUrl }], helpers);
}

describe('text', () => {
  /** Returns the text of each body. All are written in one page. */
  const writtenOf = async (bodies: readonly string[], maxLength = 100_000): Promise<readonly string[]> => {
    await page.show('<p>text</p>', '<title></title>');
    return page.call(
      (all: readonly string[], most: number) =>
        all.map((body) => {
          document.body.setHTMLUnsafe(body);
          const writer = writeText(most);
          walkPage([writer], Number.POSITIVE_INFINITY);
          return writer.written();
        }),
      [bodies, maxLength],
      walkers,
    );
  };
  const cases: readonly (readonly [html: string, text: string])[] = [
    ['<div>a</div><div>b</div>', 'a\nb'],
    ['a<div>b</div>c', 'a\nb\nc'],
    ['a <span> b</span>\n\t c', 'a b c'],
    ['<b>a</b> <i>b</i>', 'a b'],
    ['<b>a</b><i>b</i>', 'ab'],
    ['<p> </p>a', 'a'],
    ['a<br>b<br><br>c<br><br><br>d', 'a\nb\n\nc\n\nd'],
    ['<div>a<br></div><p>b</p>', 'a\n\nb'],
    ...['blockquote', 'dl', 'figure', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ol', 'p', 'pre', 'ul'].map(
      (tag) => [`a<${tag}>b</${tag}>c`, 'a\n\nb\n\nc'] as const,
    ),
    ['<p style="display:inline">a</p>b', 'ab'],
    ['<div style="display:contents">a</div>b', 'ab'],
    ['a<span style="display:block math">b</span>c', 'a\nb\nc'],
    ['a<ruby>b<rp>(</rp><rt>c</rt></ruby>d', 'abcd'],
    ['a<span style="display:flow-root list-item">b</span>c', 'a\nb\nc'],
    ['<table><tr><th>a</th><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>', 'a\tb\nc\td'],
    ['<table><tr><td>a</td><td><p>b</p></td></tr></table>', 'a\n\nb'],
    ['<pre>a  b\n c</pre>', 'a  b\n c'],
    ['<div style="white-space:pre-line">a\nb</div>', 'a\nb'],
    ['<div style="white-space:nowrap">a\nb</div>', 'a b'],
    ['<pre>a</pre><pre></pre>', 'a'],
    // Content that is not shown.
    ['<div hidden>a</div>b', 'b'],
    ['<div style="visibility:hidden">a<b style="visibility:visible">b</b></div>c', 'b\nc'],
    ['<div style="visibility:collapse">a</div>b', 'b'],
    ['<div style="content-visibility:hidden">a</div>b', 'b'],
    ['<details><summary>a</summary>b<summary>c</summary></details>d', 'a\nd'],
    ['<details>b<i>c</i><summary>a</summary></details>d', 'a\nd'],
    ['<details><b>a</b></details>b', 'b'],
    ['<details open><summary>a</summary>b</details>', 'a\nb'],
    ['<noscript><p>a</p></noscript>b', 'b'],
    ...'audio canvas datalist iframe meter object option progress rp script select style svg template textarea title video'
      .split(' ')
      .map((tag) => [`<${tag}><desc>a</desc></${tag}>b`, 'b'] as const),
    ['<button>a</button><label>b</label>', 'ab'],
    ['a<!-- b -->c', 'ac'],
    // Shadow roots.
    ['<div><template shadowrootmode="open">a<slot></slot><p>b</p></template>c</div>', 'ac\n\nb'],
    ['<div><template shadowrootmode="open"><slot name="x">a</slot></template>c</div>', 'a'],
    [
      '<div><template shadowrootmode="open"><slot name="y"></slot><slot name="x"></slot></template><i slot="x">a</i><i slot="y">b</i></div>',
      'ba',
    ],
    ...['', 'display:none'].map(
      (style) =>
        [
          `<div><template shadowrootmode="open"><p><template shadowrootmode="open"><slot></slot></template><slot style="${style}"></slot></p></template>a</div>b`,
          style === '' ? 'a\n\nb' : 'b',
        ] as const,
    ),
    ['<div><template shadowrootmode="open"><slot></slot></template>a<b>b</b>c</div>', 'abc'],
    // Fields do not shadow members of their form.
    ['<form>a<input name="firstChild"><input name="nodeType"><input name="nextSibling"></form>b', 'a\nb'],
  ];

  test('writeText writes what is shown, with the lines of blocks and the tabs of cells', async () => {
    const written = await writtenOf(cases.map(([body]) => body));
    const wrong = cases.map(([body, expected], index) => ({ body, expected, written: written[index] }));
    expect(wrong.filter((one) => one.written !== one.expected)).toEqual([]);
  });

  test('writeText stops when it is full', async () => {
    const written = await writtenOf(['<p>abcdef</p><p>g</p>', 'ab<p>cd</p>e', '<pre>abcdef</pre>'], 4);
    expect(written).toEqual(['abcde', 'ab\n\ncd', 'abcde']);
  });

  test('contains what a page shows without scripts', async () => {
    const cdp = await page.page.context().newCDPSession(page.page);
    await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
    try {
      expect(await extract(['text'], { body: '<noscript>a</noscript>b' })).toEqual({ text: 'ab' });
    } finally {
      await cdp.send('Emulation.setScriptExecutionDisabled', { value: false });
      await cdp.detach();
    }
  });

  test('walkPage ends the elements that it has entered, stops when it is late, and says whether it is at the end', async () => {
    await page.show(`<i>a</i>${'<p>text</p>'.repeat(200)}`);
    const walked = await page.call(
      (isFull: boolean, end: number) => {
        const calls: string[] = [];
        const isWhole = walkPage(
          [
            {
              enter: (_, tag) => {
                calls.push(tag);
                return () => calls.push(`/${tag}`);
              },
              image: () => undefined,
              lineBreak: () => undefined,
              text: () => undefined,
              isFull: () => isFull && calls.length === 3,
            },
          ],
          end,
        );
        return { isWhole, count: calls.length, calls: calls.slice(0, 4), last: calls.slice(-3) };
      },
      [true, Number.MAX_VALUE] as [boolean, number],
      walkers,
    );
    expect(walked).toEqual({
      isWhole: false,
      count: 6,
      calls: ['html', 'body', 'i', '/i'],
      last: ['/i', '/body', '/html'],
    });
  });

  test('marks a text that is too long, or was not read in time', async () => {
    const body = '<p>text</p>'.repeat(200);
    expect(await extract(['text'], { body: 'aé', maxBytes: 2 })).toEqual({ text: 'a', truncated: ['text'] });
    expect(await extract(['text'], { body: 'aé', maxBytes: 3 })).toEqual({ text: 'aé' });
    expect(await extract(['text'], { body: 'abcd', maxBytes: 3 })).toEqual({ text: 'abc', truncated: ['text'] });
    expect(await extract(['text'], { body: 'a\u0001bcd', maxBytes: 3 })).toEqual({ text: 'abc', truncated: ['text'] });
    const { text = '', ...rest } = await extract(['text', 'markdown'], { body, maxMs: -1 });
    expect(rest).toMatchObject({ truncated: ['markdown', 'text'] });
    expect(text.length).toBeGreaterThan(300);
    expect(text.length).toBeLessThan(600);
  });
});

test('a part continues when the other one is full', async () => {
  const body = `<b>a</b><i>b</i><s>c</s>${'d'.repeat(20)}`;
  const both = await extract(['text', 'markdown'], { body, maxBytes: 12 });
  expect(both).toEqual({ text: `abc${'d'.repeat(9)}`, markdown: '**a***b*~~c~', truncated: ['markdown', 'text'] });
});

test('markdown has the addresses of links and images that may be followed, without characters that would end them', async () => {
  const { markdown } = await extract(['markdown'], {
    body: `<a href="mailto:a b(c)|d\\e&lt;f>">a</a> <a href="ftp://a.test/">b</a> <img src="/i" alt="i"> <img src="data:,x" alt="j"> <img src="x-http://a.test/" alt="k">
      <svg><a href="/x"><text>c</text></a></svg>`,
  });
  expect(markdown).toBe('[a](mailto:a%20b%28c%29%7cd%5ce%3cf%3e) b ![i](http://page.test/i) j k');
});

test('extractParts returns what there is of a document without a root', async () => {
  await page.show('<p>text</p>');
  await page.read(() => document.documentElement.remove());
  const limits = { maxBytes: 1000, maxMs: 60_000, noUrl };
  const { html, text, metadata } = await page.call(extractParts, [['html', 'text', 'metadata'], limits], helpers);
  expect({ html, text, language: metadata?.language }).toEqual({ html: '<!DOCTYPE html>\n', text: '', language: null });
});

test('extractParts returns the parts that are asked for', async () => {
  const source = { head: '<title>t</title>', body: '<p>a <a href="http://a.test/">b</a></p>' };
  const all = await extract([...extractNames], source);
  expect(Object.keys(all).toSorted()).toEqual([...extractNames].toSorted());
  for (const name of extractNames) expect(await extract([name], source)).toEqual({ [name]: all[name] });
  expect(all).toMatchObject({ text: 'a b', markdown: 'a [b](http://a.test/)' });
});

describe('html', () => {
  test('contains the doctype, if there is one, and no control characters', async () => {
    const { html } = await extract(['html'], { head: '<title>t</title>', body: '<p>a\u0001\tb</p>' });
    expect(html).toMatch(/^<!DOCTYPE html>\n<html>?.*<p>a\tb<\/p>.*<\/html>$/s);
    await page.read(() => document.doctype?.remove());
    const limits = { maxBytes: 1000, maxMs: 60_000, noUrl };
    const without = await page.call(extractParts, [['html'], limits], helpers);
    expect(without.html).toMatch(/^<html/);
  });

  test('contains open shadow roots at any depth as templates', async () => {
    const body =
      '<div><template shadowrootmode="open"><p>a</p><b><template shadowrootmode="open"><i>b</i></template></b><slot></slot></template>c</div>' +
      '<div><template shadowrootmode="closed">closed</template>d</div>';
    const { html } = await extract(['html'], { body });
    const [open = ''] = body.split('<div><template shadowrootmode="closed">');
    expect(html).toContain(`${open}<div>d</div>`);
  });
});

describe('links', () => {
  const links = async (body: string, limits: { maxBytes?: number; maxMs?: number } = {}) => {
    const { links: found, truncated } = await extract(['links'], { body, ...limits });
    return truncated === undefined ? found : { found, truncated };
  };
  const link = (path: string, text: string) => ({ url: `http://a.test/${path}`, text });

  test('have the addresses that may be followed, each once, with its first text', async () => {
    expect(
      await links(
        `<a href="http://a.test/1">one</a><a href="https://a.test/">two</a><a href="mailto:a@b.test">three</a><a href="tel:1">four</a>
         <a href="javascript:void 0">x</a><a href="data:,x">x</a><a href="ftp://a.test/">x</a><a>x</a><a href="x-http:x">x</a>
         <a href="${noUrl}#x">x</a><a href="http://a.test/1">again</a><a href="http://a.test/2"></a><a href="http://a.test/2">later</a>
         <map><area href="http://a.test/3" alt="x" title="area"><area alt="x"></map><svg><a href="http://a.test/4">x</a></svg>
         <a href="/own">own</a><a href="http://a.test/${'x'.repeat(8192 - 14)}">long</a><a href="http://a.test/${'x'.repeat(8193 - 14)}">longer</a>`,
      ),
    ).toEqual([
      link('1', 'one'),
      { url: 'https://a.test/', text: 'two' },
      { url: 'mailto:a@b.test', text: 'three' },
      { url: 'tel:1', text: 'four' },
      link('2', 'later'),
      link('3', 'area'),
      { url: 'http://page.test/own', text: 'own' },
      link('x'.repeat(8192 - 14), 'long'),
    ]);
  });

  test('have the text of their contents, or else their label', async () => {
    const texts = async (...contents: readonly string[]) => {
      const found = await links(contents.map((each, index) => `<a href="http://a.test/${index}" ${each}</a>`).join(''));
      return (found as { text: string }[]).map(({ text }) => text);
    };
    expect(
      await texts(
        '> a <b> b<i>c</i></b>\n',
        '>a<img alt="b">c<img>d',
        '><script>a</script><style>a</style><svg><text>a</text></svg><template>a</template><noscript>a</noscript>b',
        ' aria-label="a" title="b"> ',
        ' title=" b  c "><i></i>',
        '>',
        ' title="b">a',
        '><!-- a -->b',
      ),
    ).toEqual(['a bc', 'a b c d', 'b', 'a', 'b c', '', 'a', 'b']);
    expect(await texts(`>${'x'.repeat(300)}`, `>${'😀'.repeat(300)}`, `>a${'<i></i>'.repeat(199)}b`)).toEqual([
      'x'.repeat(256),
      '😀'.repeat(256),
      'a',
    ]);
    expect(await texts(`>a${'<i></i>'.repeat(198)}b`, ` title="${'y'.repeat(300)}">`)).toEqual(['ab', 'y'.repeat(256)]);
    expect(await texts(`>${' '.repeat(512)}a`, `>${' '.repeat(511)}a`)).toEqual(['', 'a']);
    expect(await texts(`><img alt="${'x'.repeat(300)}y">`)).toEqual(['x'.repeat(256)]);
  });

  test('have no text that scripts have added to a template', async () => {
    await page.show('<a href="http://a.test/1"><template></template>text</a>');
    await page.read(() => document.querySelector('template')?.append('hidden'));
    const { links: found } = await page.call(
      extractParts,
      [['links'], { maxBytes: 1000, maxMs: 60_000, noUrl }],
      helpers,
    );
    expect(found).toEqual([link('1', 'text')]);
  });

  test('end at the limits', async () => {
    const body = '<a href="http://a.test/1">a</a><a href="http://a.test/2">b</a><a href="http://a.test/3">c</a>';
    const [first, second] = [link('1', 'a'), link('2', 'b')];
    const bytes = JSON.stringify([first, second]).length;
    expect(await links(body, { maxBytes: bytes + 1 })).toEqual({ found: [first, second], truncated: ['links'] });
    expect(await links(body, { maxBytes: bytes })).toEqual({ found: [first], truncated: ['links'] });
    expect(await links(body, { maxMs: -1 })).toEqual({ found: [], truncated: ['links'] });
    // A text that is found later takes the place of the empty one.
    const later = '<a href="http://a.test/1"></a><a href="http://a.test/1">a</a>';
    expect(await links(later, { maxBytes: JSON.stringify([first]).length + 1 })).toEqual([first]);
    expect(await links(later, { maxBytes: JSON.stringify([first]).length })).toMatchObject({ truncated: ['links'] });
  });
});

describe('metadata', () => {
  const metadata = async (head: string, language = '') => {
    await page.show('');
    await page.call(
      (markup: string, lang: string) => {
        document.head.innerHTML = markup;
        document.documentElement.lang = lang;
      },
      [head, language],
    );
    const limits = { maxBytes: 100, maxMs: 60_000, noUrl };
    const { metadata: found } = await page.call(extractParts, [['metadata'], limits], helpers);
    return found;
  };

  test('are those of the head', async () => {
    expect(
      await metadata(
        `<title> a  b </title><meta name=" Description " content=" c  d "><meta name="description" content="second"><meta name="keywords" content="k">
         <link rel="x CANONICAL" href="/c"><link rel="canonical" href="/second"><meta property=" og:title " content=" t "><meta property="og:title" content="u">
         <meta property="article:tag" content="a"><meta property="book:isbn" content="b"><meta property="profile:x" content="p">
         <meta property="music:x" content="m"><meta property="video:x:y.z-1" content="v"><meta property="twitter:x" content="x">
         <meta property="og:" content="x"><meta property="xog:title" content="x"><meta property="og:a b" content="x"><meta property="OG:Upper" content="o">
         <meta property="og:none"><meta property="og:${'x'.repeat(101)}" content="x">
         <link rel="icon" href="/i.png" sizes=" 1x1  2x2 " type="image/png"><link rel="shortcut  icon" href="http://a.test/j"><link rel="apple-touch-icon-precomposed" href="/t">
         <link rel="icon" href="x-http://a.test/"><link rel="icons" href="/x"><link rel="icon" href="data:,x"><link rel="mask-icon" href="/x"><link rel="icon" href="mailto:x">`,
      ),
    ).toEqual({
      title: 'a b',
      description: 'c d',
      language: null,
      canonicalUrl: 'http://page.test/c',
      openGraph: {
        'og:title': 't',
        'article:tag': 'a',
        'book:isbn': 'b',
        'profile:x': 'p',
        'music:x': 'm',
        'video:x:y.z-1': 'v',
        'OG:Upper': 'o',
      },
      icons: [
        { url: 'http://page.test/i.png', sizes: '1x1 2x2', type: 'image/png' },
        { url: 'http://a.test/j' },
        { url: 'http://page.test/t' },
      ],
    });
  });

  test('are empty in a document without them, and shortened', async () => {
    const none = { title: '', description: null, canonicalUrl: null, openGraph: {}, icons: [] };
    expect(await metadata('')).toMatchObject(none);
    expect(await metadata('<link rel="canonical" href="ftp://a.test/"><meta name="description">')).toMatchObject(none);
    expect(
      await metadata(
        `<title>${'x'.repeat(2001)}</title><meta name="description" content="${'y'.repeat(2001)}"><meta property="og:x" content="${'z'.repeat(2001)}">
         <link rel="icon" href="/i" sizes="${'s'.repeat(101)}" type="${'t'.repeat(101)}">`,
      ),
    ).toMatchObject({
      title: 'x'.repeat(2000),
      description: 'y'.repeat(2000),
      openGraph: { 'og:x': 'z'.repeat(2000) },
      icons: [{ sizes: 's'.repeat(100), type: 't'.repeat(100) }],
    });
    const { openGraph = {}, icons = [] } =
      (await metadata(
        Array.from(
          { length: 102 },
          (_, at) => `<meta property="og:n${at}" content="x"><link rel="icon" href="/${at}">`,
        ).join(''),
      )) ?? {};
    expect([Object.keys(openGraph).length, icons.length]).toEqual([100, 50]);
  });

  test('are those of the first 1,000 elements', async () => {
    const many = (count: number) =>
      '<meta name="x" content="x">'.repeat(count) +
      '<meta name="description" content="d">' +
      '<link rel="x" href="/x">'.repeat(count) +
      '<link rel="canonical" href="/c">';
    expect(await metadata(many(999))).toMatchObject({ description: 'd', canonicalUrl: 'http://page.test/c' });
    expect(await metadata(many(1000))).toMatchObject({ description: null, canonicalUrl: null });
  });

  test('are well-formed, and those of HTML elements', async () => {
    await page.show('<svg><link rel="icon" href="/x"/></svg>');
    await page.read(() => (document.title = 'a\ud800b'));
    const limits = { maxBytes: 100, maxMs: 60_000, noUrl };
    const { metadata: found } = await page.call(extractParts, [['metadata'], limits], helpers);
    expect(found).toMatchObject({ title: 'a\ufffdb', icons: [] });
  });

  test('name the language of the root', async () => {
    expect((await metadata('', ' de-CH '))?.language).toBe('de-CH');
    expect((await metadata('', ' '))?.language).toBeNull();
    expect((await metadata('', 'x'.repeat(101)))?.language).toBe('x'.repeat(100));
  });
});
