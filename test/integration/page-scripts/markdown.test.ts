/// <reference lib="dom" />
import { beforeAll, expect, test } from 'vitest';
import * as markdown from '../../../services/renderer/page/scripts/markdown.ts';
import * as walking from '../../../services/renderer/page/scripts/walking.ts';
import { type ScriptPage, sharedScriptPage } from '../../harness/script-page.ts';

declare const walkPage: typeof walking.walkPage;
declare const writeMarkdown: typeof markdown.writeMarkdown;

let page: ScriptPage;
beforeAll(async () => {
  page = await sharedScriptPage();
});

const helpers = [walking.readerOf, walking.walkPage, markdown.writeMarkdown];

/** Returns the Markdown of each body. All are written in one page. */
async function writtenOf(bodies: readonly string[], maxLength = 100_000): Promise<readonly string[]> {
  await page.show('<p>text</p>', '<title></title>');
  return page.call(
    (all: readonly string[], most: number) =>
      all.map((body) => {
        document.body.innerHTML = body;
        const writer = writeMarkdown(most, (element) =>
          element.getAttribute(element.localName === 'img' ? 'src' : 'href'),
        );
        walkPage([writer], Number.POSITIVE_INFINITY);
        return writer.written();
      }),
    [bodies, maxLength],
    helpers,
  );
}

/** HTML of a body, and its Markdown. */
const cases: readonly (readonly [html: string, markdown: string])[] = [
  // Blocks and lines.
  ['<p>a</p><p>b</p>', 'a\n\nb'],
  ['a <p>b</p> c', 'a\n\nb\n\nc'],
  ['<div><div>a</div></div><div>b</div>', 'a\n\nb'],
  ['a<br>b', 'a  \nb'],
  ['a<br><br>b', 'a\n\nb'],
  ['<p>a</p><br><p>b</p>', 'a\n\nb'],
  ['<br>a', 'a'],
  ['a <span> b</span>\n\t c', 'a b c'],
  ['a<span style="display:inline-block">b</span>c', 'abc'],
  ['a<hr>b', 'a\n\n---\n\nb'],
  ['<pre></pre><p> </p>a', 'a'],
  ['<div style="white-space:pre">a\nb\n\nc</div>', 'a  \nb\n\nc'],
  ['<h2 style="white-space:pre">a\nb</h2>', '## a b'],
  // Headings and quotes.
  ['<h1>a</h1><h6>b</h6>c', '# a\n\n###### b\n\nc'],
  ['<h3>a<br>b<p>c</p><ul><li>d</li></ul></h3>', '### a b c d'],
  ['<blockquote>a<p>b</p></blockquote>c', '> a\n>\n> b\n\nc'],
  ['<blockquote><h2>a</h2>b</blockquote>', '> ## a\n>\n> b'],
  ['<blockquote><blockquote>a</blockquote>b<br>c</blockquote>', '> > a\n>\n> b  \n> c'],
  ['<blockquote>a<blockquote>b</blockquote></blockquote>', '> a\n>\n> > b'],
  ['<blockquote><blockquote>a<p>b</p></blockquote></blockquote>', '> > a\n> >\n> > b'],
  ['<blockquote>a</blockquote><h2>b</h2>', '> a\n\n## b'],
  ['a<h2>b</h2>', 'a\n\n## b'],
  // Elements without a meaning, whose names begin or end like those with one.
  ...['xh1', 'h1x', 'h7', 'h', 'xli', 'lix', 'l', 'xul', 'thx', 'hrx', 'prex', 'xtable'].flatMap((tag) => [
    [`a<${tag}>b</${tag}>c`, 'abc'] as const,
    [`a<${tag} style="display:block">b</${tag}>c`, 'a\n\nb\n\nc'] as const,
  ]),
  // Elements with a meaning have it whatever their boxes are.
  ['a<h1 style="display:inline">b</h1>c', 'a\n\n# b\n\nc'],
  ['a<ul style="display:inline"><li style="display:inline">b</li></ul>c', 'a\n\n- b\n\nc'],
  ['<ol style="display:inline"><li style="display:inline">a</li></ol>', '1. a'],
  ['<blockquote style="display:inline">a</blockquote>', '> a'],
  ['<pre style="display:inline">a</pre>', '```\na\n```'],
  ['a<hr style="display:inline">b', 'a\n\n---\n\nb'],
  [
    '<table style="display:inline"><tr style="display:inline"><td style="display:inline">a</td><th style="display:inline">b</th></tr></table>',
    '| a | b |\n| --- | --- |',
  ],
  // Lists.
  ['a<ul><li>b</li><li>c</li></ul>d', 'a\n\n- b\n- c\n\nd'],
  ['<ol><li>a</li><li></li><li>b</li></ol>', '1. a\n2. b'],
  ['<ol start="7"><li>a</li><li>b</li></ol>', '7. a\n8. b'],
  ['<ol start="0"><li>a</li></ol>', '0. a'],
  ['<ol start="-1"><li>a</li></ol>', '1. a'],
  ['<ol start="100000000"><li>a</li></ol>', '1. a'],
  ['<ol start="99999999"><li>a</li></ol>', '99999999. a'],
  ['<ol start="x"><li>a</li></ol>', '1. a'],
  ['<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>', '- a\n  - b\n- c'],
  ['<ol><li>a<p>b</p></li><li><p>c</p></li></ol>', '1. a\n\n   b\n2. c'],
  ['<ul><li><ul><li>a</li></ul></li></ul>', '- - a'],
  ['a<li>b</li>', 'a\n- b'],
  ['a<ul><li>b</li></ul>c<ul><li>d</li></ul>', 'a\n\n- b\n\nc\n\n- d'],
  ['<ol><li>a</li></ol><li>b</li>', '1. a\n\n- b'],
  ['<ul><li>a<br></li><li>b</li></ul>', '- a\n- b'],
  ['<ul><li><pre>a\n\nb</pre></li></ul>', '- ```\n  a\n\n  b\n  ```'],
  // Emphasis.
  ['a <b>b</b> <strong>c</strong>', 'a **b** **c**'],
  ['<i>a</i> <em>b</em> <del>c</del> <s>d</s>', '*a* *b* ~~c~~ ~~d~~'],
  ['<b>a</b><b>b</b>', '**ab**'],
  ['<b>a<b>b</b></b>c', '**ab**c'],
  ['<b> </b>a', 'a'],
  ['<b>a<p>b</p>c</b>', '**a**\n\n**b**\n\n**c**'],
  ['<b>a<i>b<p>c</p></i></b>', '**a*b***\n\n***c***'],
  ['<b>a<hr>b</b>', '**a**\n\n---\n\n**b**'],
  ['<b><hr>a</b>', '---\n\n**a**'],
  ['<b><pre>a</pre>b</b>', '```\na\n```\n\n**b**'],
  ['<b><table><tr><td>a</td><td>b</td></tr></table>c</b>', '| **a** | **b** |\n| --- | --- |\n\n**c**'],
  ['<b><h2>a</h2></b>', '## **a**'],
  // Links and images.
  ['<a href="/x">a</a>', '[a](/x)'],
  ['<a>a</a>', 'a'],
  ['<a href="/x"></a>a', 'a'],
  ['<a href="/x">a<p>b</p></a>c', '[a b](/x) c'],
  ['<a href="/x">a</a><a href="/y">b</a>', '[a](/x)[b](/y)'],
  ['<a href="/x">a</a><p>b</p>', '[a](/x)\n\nb'],
  ['<a href="/x">a<marquee><a href="/y">b</a></marquee></a>', '[ab](/x)'],
  ['ab!<a href="/x">c</a>', 'ab\\![c](/x)'],
  ['a! <a href="/x">b</a>', 'a! [b](/x)'],
  ['a!<b>b</b>', 'a!**b**'],
  ['<h2><a href="/x"><h3>a</h3></a></h2>', '## [a](/x)'],
  ['<img src="/x" alt="a  [b]">', '![a \\[b\\]](/x)'],
  ['<img src="/x" alt="a">b', '![a](/x)b'],
  [`<img src="/x" alt="${'a'.repeat(1001)}">`, `![${'a'.repeat(1000)}](/x)`],
  ['<b><img></b>a', 'a'],
  ['<img src="/x">', '![](/x)'],
  ['<img src="/x" alt="">a', 'a'],
  ['<img src="/x" alt="a" style="visibility:hidden">b', 'b'],
  ['<img alt="a">', 'a'],
  ['<img>a', 'a'],
  ['<code>a<img src="/x" alt="b"></code>', '`a`'],
  ['<a href="/y"><img src="/x" alt="a"></a>', '[![a](/x)](/y)'],
  // Code.
  ['<code>a</code> <kbd>b</kbd> <samp>c</samp> <tt>d</tt>', '`a` `b` `c` `d`'],
  ['<code>a  *b*<br>c</code>', '`a *b* c`'],
  ['<code> </code>a', 'a'],
  ['<code>a`b</code>', '``a`b``'],
  ['<code>`a</code>', '`` `a ``'],
  ['<code>a``</code>', '``` a`` ```'],
  ['<code>a|b</code>', '`a|b`'],
  ['<pre>\na *b*\n\nc\n</pre>d', '```\na *b*\n\nc\n```\n\nd'],
  ['a<pre>b</pre>', 'a\n\n```\nb\n```'],
  ['<pre> </pre>a', 'a'],
  ['<pre><code>\na</code></pre>', '```\na\n```'],
  ['<pre><div>\na</div></pre>', '```\na\n```'],
  ['<pre>a<div>b</div></pre>', '```\na\nb\n```'],
  ['<pre>a```b</pre>', '````\na```b\n````'],
  ['<pre class="lang-ts">a</pre>', '```ts\na\n```'],
  ['<pre class="x"><code class="language-c++">a</code></pre>', '```c++\na\n```'],
  ['<pre class="language-">a</pre>', '```\na\n```'],
  ['<pre><div>a</div><div>b</div>c</pre>', '```\na\nb\nc\n```'],
  ['<pre>a<span>b</span><br>c</pre>', '```\nab\nc\n```'],
  ['<code>a<div>b</div></code>', '`ab`'],
  ['<blockquote><pre>a\n\nb</pre></blockquote>', '> ```\n> a\n>\n> b\n> ```'],
  // Escapes.
  ['a \\ ` * [ ] < ~ | &lt;b>', 'a \\\\ \\` \\* \\[ \\] \\< \\~ | \\<b>'],
  ['a_b _c_ d_', 'a_b \\_c\\_ d\\_'],
  ['é_é', 'é_é'],
  ['&amp;amp; &amp;#39; &amp; b', '\\&amp; \\&#39; & b'],
  ['# a', '\\# a'],
  ['a # b + c', 'a # b + c'],
  ['a<br># b', 'a  \n\\# b'],
  ['<p>a</p>+ b', 'a\n\n\\+ b'],
  ['= a', '\\= a'],
  ['> a', '\\> a'],
  ['- a', '\\- a'],
  ['1. a', '1\\. a'],
  ['1) a', '1\\) a'],
  ['123456789. a', '123456789\\. a'],
  ['1.5', '1.5'],
  ['1.', '1\\.'],
  ['1234567890. a', '1234567890. a'],
  ['<b>- a</b>', '**\\- a**'],
  ['<b>a</b>- b', '**a**- b'],
  // Tables.
  [
    '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c|d</td><td><code>e|f</code></td></tr></tbody></table>g',
    '| a | b |\n| --- | --- |\n| c\\|d | `e\\|f` |\n\ng',
  ],
  ['x<table><tr><td>a</td></tr><tr><td>b</td><td>c</td></tr></table>', 'x\n\n| a | |\n| --- | --- |\n| b | c |'],
  ['<table><tr></tr><tr><td>a</td></tr></table>', '| a |\n| --- |'],
  [
    '<div style="white-space:pre"><table>\n\n<tr>\n\n<td>a</td>\n\n<td>b</td></tr>\n\n<tr><td>c</td><td>d</td>\n\n</tr>\n\n</table></div>e',
    '| a | b |\n| --- | --- |\n| c | d |\n\ne',
  ],
  ['<table><tr><td>a</td></tr></table>b|c', '| a |\n| --- |\n\nb|c'],
  [
    '<table><thead><tr><th>a</th></tr></thead><colgroup><col></colgroup><tbody><tr><td>b</td></tr></tbody><tfoot><tr><td>c</td></tr></tfoot></table>',
    '| a |\n| --- |\n| b |\n| c |',
  ],
  // The first row is as long as the longest of the first 1,000 rows, with at most 100 cells.
  [
    `<table>${'<tr><td>a</td></tr>'.repeat(1000)}<tr><td>b</td><td>c</td></tr></table>`,
    `| a |\n| --- |${'\n| a |'.repeat(999)}\n| b | c |`,
  ],
  [
    `<table>${'<tr><td>a</td></tr>'.repeat(999)}<tr><td>b</td><td>c</td></tr></table>`,
    `| a | |\n| --- | --- |${'\n| a |'.repeat(998)}\n| b | c |`,
  ],
  [
    `<table><tr><td>a</td></tr><tr>${'<td>b</td>'.repeat(101)}</tr></table>`,
    `| a |${' |'.repeat(99)}\n|${' --- |'.repeat(100)}\n|${' b |'.repeat(101)}`,
  ],
  ['<table><tr><td> a<br>b <p>c</p></td></tr></table>', '| a b c |\n| --- |'],
  ['<table><tr><td><b>a</b></td><td></td></tr></table>', '| **a** |  |\n| --- | --- |'],
  ['<blockquote><table><tr><td>a</td></tr><tr><td>b</td></tr></table></blockquote>', '> | a |\n> | --- |\n> | b |'],
  ['<table role="presentation"><tr><td>a</td><td>b</td></tr></table>', 'a\n\nb'],
  ['<table role="none"><tr><td>a</td><td>b</td></tr></table>', 'a\n\nb'],
  ...['table', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'blockquote'].map(
    (tag) => [`<table><tr><td>a<${tag}></${tag}></td><td>b</td></tr></table>`, 'a\n\nb'] as const,
  ),
  ['<table><caption>c</caption><colgroup><col></colgroup><tr><td>a</td></tr></table>', 'c\n\n| a |\n| --- |'],
];

test('writeMarkdown writes blocks, marks, links, code, tables and escapes', async () => {
  const written = await writtenOf(cases.map(([body]) => body));
  const wrong = cases.map(([body, expected], index) => ({ body, expected, written: written[index] }));
  expect(wrong.filter((one) => one.written !== one.expected)).toEqual([]);
});

test('writeMarkdown stops when it is full', async () => {
  const written = await writtenOf(
    [
      '<p>abcdef</p><p>g</p>',
      '<code>abcdef</code>',
      'ab<p>cd</p>',
      '<pre>abcdef</pre>x',
      '<p>abcd</p><p>ef</p>',
      '<p>a</p><p>bcdefgh</p>',
      '<pre>abcd<i>ef</i><i>gh</i></pre>',
      '<pre>abcde<i>fg</i></pre>',
    ],
    4,
  );
  expect(written).toEqual([
    'abcde',
    '`abcde`',
    'ab\n\ncd',
    '```\nabcde\n```',
    'abcd\n\ne',
    'a\n\nbcde',
    '```\nabcdef\n```',
    '```\nabcde\n```',
  ]);
});
