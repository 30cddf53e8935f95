import { expect } from 'vitest';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { extractNames, maxExtractedBytes } from '@webcapture/shared/api/formats.ts';
import { html } from '../harness/engine.ts';
import { type HardPage, testCorpus } from './corpus.ts';

const bytesOf = (value: unknown) => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));

/** A page whose parts are extracted; in one format, because the parts are equal in each. */
const page = (
  name: string,
  site: HardPage['site'],
  check: (extracted: Extracted, softTimeouts: readonly string[]) => void,
  more: Partial<HardPage> = {},
): HardPage => ({
  name,
  site,
  formats: ['jpeg'],
  check: ({ rendering, report }) => check(rendering.extracted ?? {}, report.softTimeouts),
  ...more,
  options: { extract: [...extractNames], ...more.options },
});

const article = `
  <head><title>A  title</title>
  <meta name="Description" content="What it is about">
  <meta property="og:title" content="Shared title"><meta property="og:title" content="second">
  <meta property="og:image" content="/cover.png">
  <link rel="canonical" href="/canonical"><link rel="shortcut icon" href="/icon.png" sizes="32x32" type="image/png">
  <link rel="icon" href="data:image/png;base64,AAAA"></head>
  <body><style>.gone { display: none } .faint { visibility: hidden }</style>
  <h1>The   <em>first</em> heading</h1>
  <p>A paragraph with <b>bold</b>, <i>italic</i> and <code>co\`de</code>,<br>a [bracket], 1 < 2 &amp;amp; snake_case*.
  <p>1. A <a href="/page?a=(1)">relative  link</a>, <a href="mailto:a@b.example">mail</a>, <a href="javascript:alert(1)">script</a>,
     <a href="/page?a=(1)">again</a><a href="tel:+49"><img alt="Phone" src="/none.png"></a>
  <p class="gone">gone <a href="/hidden">hidden link</a></p><p class="faint">faint <span style="visibility: visible">seen</span></p>
  <ul><li>one<li><p>two</p><ol start="3"><li>deep<li>deeper</ol><li></ul>
  <blockquote><p>quoted</p><p>twice</p></blockquote>
  <pre><code class="hljs language-ts">const a = 1;

  \`\`\`b</code></pre>
  <table><thead><tr><th>Name<th>Price | unit</thead><tr><td><a href="https://example.com/x">X</a><td>5</table>
  <details><summary>More</summary>folded</details>
  <x-card><span slot="title">slotted</span></x-card><iframe srcdoc="framed"></iframe><noscript>no scripts</noscript>
  <script>document.querySelector('x-card').attachShadow({ mode: 'open' }).innerHTML = '<p>in the <a href="/shadow">shadow</a></p><slot name="title"></slot>'</script>
  </body>`;

const markdown = (origin: string) => `# The *first* heading

A paragraph with **bold**, *italic* and \`\`co\`de\`\`,  
a \\[bracket\\], 1 \\< 2 \\&amp; snake_case\\*.

1\\. A [relative link](${origin}/page?a=%281%29), [mail](mailto:a@b.example), script, [again](${origin}/page?a=%281%29)[![Phone](${origin}/none.png)](tel:+49)

seen

- one
- two

  3. deep
  4. deeper

> quoted
>
> twice

\`\`\`\`ts
const a = 1;

  \`\`\`b
\`\`\`\`

| Name | Price \\| unit |
| --- | --- |
| [X](https://example.com/x) | 5 |

More

in the [shadow](${origin}/shadow)

slotted`;

const text = `The first heading

A paragraph with bold, italic and co\`de,
a [bracket], 1 < 2 &amp; snake_case*.

1. A relative link, mail, script, again

seen

one

two

deep
deeper

quoted

twice

const a = 1;

  \`\`\`b

Name\tPrice | unit
X\t5
More

in the shadow

slotted`;

const pages: readonly HardPage[] = [
  page('an article', { '/': `<!doctype html><html lang="en">${article}` }, (extracted) => {
    const [link] = extracted.links ?? [];
    const { origin } = new URL(link?.url ?? 'about:blank');
    expect(extracted.metadata).toEqual({
      title: 'A title',
      description: 'What it is about',
      language: 'en',
      canonicalUrl: `${origin}/canonical`,
      openGraph: { 'og:title': 'Shared title', 'og:image': '/cover.png' },
      icons: [{ url: `${origin}/icon.png`, sizes: '32x32', type: 'image/png' }],
    });
    expect(extracted.links).toEqual([
      { url: `${origin}/page?a=(1)`, text: 'relative link' },
      { url: 'mailto:a@b.example', text: 'mail' },
      { url: 'tel:+49', text: 'Phone' },
      { url: `${origin}/hidden`, text: 'hidden link' },
      { url: 'https://example.com/x', text: 'X' },
      { url: `${origin}/shadow`, text: 'shadow' },
    ]);
    expect(extracted.markdown).toBe(markdown(origin));
    expect(extracted.text).toBe(text);
    expect(extracted.html).toMatch(/^<!DOCTYPE html>\n<html lang="en"><head>.*<\/html>$/s);
    expect(extracted.html).toContain('<x-card><template shadowrootmode="open"><p>in the <a href="/shadow">');
    expect(extracted.truncated).toBeUndefined();
  }),
  page(
    'lines of pre-wrap, adjacent marks, a card as a link, and a layout table',
    {
      '/': html(
        `<div style="white-space: pre-wrap">first line\nsecond <b>line</b></div><strong>a</strong><strong>b</strong> <a href="https://e.example/a|b"><h2>Card</h2><p>lead</p></a>
         <div><b>over<p>paragraphs</p></b></div><table role="presentation"><tr><td>left<td><h3>right</h3></table>Wow!<a href="https://e.example/">link</a>`,
      ),
    },
    ({ markdown: written }) =>
      expect(written).toBe(
        [
          'first line  \nsecond **line**',
          '**ab** [Card lead](https://e.example/a%7Cb)',
          '**over**\n\n**paragraphs**',
          'left',
          '### right',
          'Wow\\![link](https://e.example/)',
        ].join('\n\n'),
      ),
    { options: { extract: ['markdown'], isFullPage: true }, formats: ['jpeg', 'pdf'] },
  ),
  page(
    'objects that the page has changed, and elements named after the members that the extraction reads',
    {
      '/': html(
        `plain <form name="createTreeWalker"><input name="childNodes"><input name="firstChild"><input name="nodeType"><input name="localName">
           <input name="attributes"><p id="documentElement">in the form <a href="https://e.example/">link</a></p></form><img name="doctype"><div id="Node"></div>
         <script>
           const lie = () => 'LIE';
           for (const type of [Array, String, Map, Set, Node, Element, HTMLElement, Document, JSON, Object]) {
             const target = type.prototype ?? type;
             for (const name of Object.getOwnPropertyNames(target)) try { Object.defineProperty(target, name, { get: lie }) } catch {}
           }
           TextEncoder = JSON.stringify = getComputedStyle = lie;
         </script>`,
      ),
    },
    (extracted) => {
      expect(extracted).toMatchObject({
        text: 'plain\n\nin the form link',
        markdown: 'plain\n\nin the form [link](https://e.example/)',
      });
      expect(extracted.links).toEqual([{ url: 'https://e.example/', text: 'link' }]);
      expect(JSON.stringify(extracted)).not.toContain('"LIE');
    },
    { isHostile: true },
  ),
  page(
    'fields that scripts have added, by selectors, beside another part',
    {
      '/': html(
        `<h1>Lamps</h1><script>
           const card = (at) => '<div class="card"><template shadowrootmode="open"><h2>Lamp ' + at + '</h2><slot></slot></template><a href="/' + at + '">see</a></div>';
           setTimeout(() => document.body.append(Object.assign(document.createElement('main'), { id: 'list' })), 50);
           setTimeout(() => document.querySelector('#list').setHTMLUnsafe(Array.from({ length: 1001 }, (_, at) => card(at)).join('')), 100);
         </script>`,
      ),
    },
    ({ fields, truncated, text: seen }) => {
      expect(fields).toMatchObject({ title: 'Lamps', none: null });
      const lamps = fields?.['lamps'] as readonly { readonly name: string; readonly url: string }[];
      expect(lamps).toHaveLength(1000);
      expect(lamps[999]?.name).toBe('Lamp 999');
      expect(lamps[999]?.url).toMatch(/^http:.*\/999$/);
      expect(truncated).toEqual(['fields']);
      expect(seen).toContain('Lamps\n');
    },
    {
      options: {
        extract: ['text'],
        extractFields: {
          title: 'h1',
          lamps: { selector: '.card', list: true, fields: { name: 'h2', url: { selector: 'a', attribute: 'href' } } },
          none: 'h3',
        },
      },
    },
  ),
  page(
    'more content than the limits allow, in letters of three bytes',
    {
      '/': html(
        `<script>document.write('<p>' + '語'.repeat(400_000) + '\\u0001\\ud800</p>' + Array.from({ length: 12_000 }, (_, i) => '<a href="https://e.example/' + i + '?' + 'x'.repeat(50) + '">link</a>').join(''))</script>`,
      ),
    },
    (extracted) => {
      expect(extracted.truncated).toEqual(['html', 'links', 'markdown', 'text']);
      for (const name of ['html', 'links', 'markdown', 'text'] as const) {
        expect(bytesOf(extracted[name]), name).toBeLessThanOrEqual(maxExtractedBytes);
        expect(bytesOf(extracted[name]), name).toBeGreaterThan(maxExtractedBytes - 100);
      }
      expect(extracted.text).toMatch(/^語+$/);
      expect(extracted.links?.at(-1)?.url).toMatch(/x{50}$/);
    },
    { isHostile: true, isLong: true },
  ),
  page(
    '30,000 nested elements, more than a call stack holds, and text with Markdown syntax',
    {
      '/': html(
        `<style>div { display: contents }</style>${'<blockquote>'.repeat(300)}${'<b>'.repeat(300)}${'<div>'.repeat(30_000)}deepest${'*_`[&amp;'.repeat(20_000)}`,
      ),
    },
    (extracted) => {
      expect(extracted.text).toMatch(/^deepest\*_`\[&/);
      expect(extracted.markdown).toMatch(/^(?:> ){300}\*\*deepest\\\*/);
    },
    { isHostile: true, isLong: true },
  ),
  page(
    'noscript content, and the content after hide and remove',
    {
      '/': html(
        `<noscript><p>noscript</p></noscript><p class="a">hidden</p><p class="b">removed</p><a class="b" href="https://e.example/">link</a>`,
      ),
    },
    (extracted) => {
      expect(extracted).toMatchObject({ text: 'noscript', markdown: 'noscript' });
      expect(extracted.links).toEqual([{ url: 'https://e.example/', text: 'link' }]);
    },
    { options: { javaScript: false, hide: ['.a'], remove: ['.b'] } },
  ),
];

testCorpus(pages);
