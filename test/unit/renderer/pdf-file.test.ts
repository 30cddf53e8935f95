import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isBlankPdf, makeLinksRelative, readPdf, spaceBookmarks } from '../../../services/renderer/page/pdf-file.ts';
import { htmlUrl } from '../../../services/renderer/html-url.ts';
import { chromiumPdf } from '../../harness/chromium-pdf.ts';

describe('readPdf', () => {
  test('returns the size of the first page in CSS pixels, and the number of pages', () => {
    const bytes = chromiumPdf({ contents: ['', ''] });
    expect(readPdf(bytes)).toEqual({ bytes, width: 800, height: 1067, pages: 2 });
    const other = Buffer.from('/Type /Pages /Type /Page\n/MediaBox [ 0 0 595.92 842.88 ] /MediaBox [0 0 1 1]');
    expect(readPdf(other)).toMatchObject({ width: 795, height: 1124, pages: 1 });
  });

  test.each(['', '/Type /Page', '/MediaBox [0 0 1 1]', '/Type /Pages /MediaBox [0 0 1 1]'])('refuses %j', (text) => {
    expect(() => readPdf(Buffer.from(text))).toThrow(
      expect.objectContaining({
        code: 'CAPTURE_FAILED',
        causedBy: 'service',
        message: expect.stringContaining('empty PDF'),
      }),
    );
  });
});

test('makeLinksRelative shortens links of supplied HTML, and keeps the length of the file', () => {
  const relative = (text: string) => makeLinksRelative(Buffer.from(text, 'latin1')).toString('latin1');
  const pad = ' '.repeat(htmlUrl.length);
  expect(relative(`a /URI (${htmlUrl}x) b /URI (${htmlUrl}#y) c`)).toBe(`a /URI (x)${pad} b /URI (#y)${pad} c`);
  expect(relative(`/URI (${htmlUrl}x\\)y) /URI (${htmlUrl})`)).toBe(`/URI (x\\)y)${pad} /URI ()${pad}`);
  expect(relative(`/URI (${htmlUrl}a\\)b\\)c) d`)).toBe(`/URI (a\\)b\\)c)${pad} d`);
  // A backslash at the end of the address is itself escaped.
  expect(relative(`/URI (${htmlUrl}?\\\\) (b) c`)).toBe(`/URI (?\\\\)${pad} (b) c`);
  for (const text of [
    `/URI (http://a.test/)`,
    `/URI (${htmlUrl}x`,
    `/URI (${htmlUrl}x\\)`,
    `/URI (${htmlUrl}x\\`,
    `(${htmlUrl}x)`,
    '',
  ])
    expect(relative(text)).toBe(text);
});

describe('spaceBookmarks', () => {
  const titleOf = (heading: string) =>
    `<FEFF${Buffer.from(heading, 'utf16le').swap16().toString('hex').toUpperCase()}>`;
  const bookmark = (title: string) => `<</Title ${title}\n/Dest [1 0 R /XYZ 0 800 0]\n/Parent 9 0 R>>`;
  const literal = (title: string) => bookmark(`(${title})`);

  test('appends the bookmarks whose spaces are missing', () => {
    const bytes = chromiumPdf({
      objects: [
        literal('One two'),
        literal('Threefour'),
        bookmark(titleOf('Fünfsechs')),
        literal('\\(a\\)\\134\\344 b'),
        '<</Dest [1 0 R]>>',
        literal('unknown'),
      ],
    });
    const headings = ['One two', 'Three  four', 'Fünf sechs', '(a) \\ä\u00A0b'];
    const spaced = spaceBookmarks(bytes, headings);
    expect(spaced.subarray(0, bytes.length)).toEqual(bytes);
    const update = spaced.subarray(bytes.length).toString('latin1');
    const objects = headings
      .slice(1)
      .map((heading, index) => `${index + 4} 0 obj\n${bookmark(titleOf(heading))}\nendobj\n`);
    expect(update.startsWith(`\n${objects.join('')}xref\n`)).toBe(true);
    const whole = spaced.toString('latin1');
    const entries = [...update.matchAll(/^(\d+) 1\n(\d{10}) 00000 n \n/gm)];
    expect(entries.map(([, id]) => id)).toEqual(['4', '5', '6']);
    for (const [, id, offset] of entries) expect(whole.slice(Number(offset))).toMatch(new RegExp(`^${id} 0 obj\n`));
    const [, before] = /startxref\n(\d+)\n/.exec(bytes.toString('latin1')) ?? [];
    const [, trailer = '', table] = /trailer\n(<<[^]*>>)\nstartxref\n(\d+)\n%%EOF\n$/.exec(update) ?? [];
    expect(trailer).toBe(`<</Size 9\n/Root 1 0 R\n/Prev ${before}>>`);
    expect(whole.slice(Number(table))).toMatch(/^xref\n4 1\n/);
  });

  test('returns the same file if there is nothing to change', () => {
    const bytes = chromiumPdf({ objects: [literal('Onetwo')] });
    expect(spaceBookmarks(bytes, [])).toBe(bytes);
    expect(spaceBookmarks(bytes, ['Onetwo', 'other'])).toBe(bytes);
    const other = Buffer.concat([bytes, Buffer.from('more')]);
    expect(spaceBookmarks(other, ['One two'])).toBe(other);
    expect(spaceBookmarks(bytes, ['One two'])).not.toBe(bytes);
  });
});

describe('isBlankPdf', () => {
  const isBlank = (...contents: readonly string[]) => isBlankPdf(chromiumPdf({ contents }), false);
  const lines = (...all: readonly string[]) => all.join('\n');
  const background = (color = '1 0 0', size = '600 800') => lines('q', `${color} rg`, `0 0 ${size} re`, 'f', 'Q');

  test.each([
    ['nothing', ['']],
    ['several pages', ['', '']],
    ['a background', [background()]],
    ['the same background on each page', [background(), background()]],
    ['the same background twice', [lines(background(), background())]],
    ['a background of half of the page', [background('1 0 0', '300 400')]],
    ['a background that extends upwards', [background('1 0 0', '600 -800')]],
    ['a scaled background', [lines('q', '.5 0 0 -.5 0 800 cm', background('1 0 0', '600 800'), 'Q')]],
    [
      'scales in scales',
      [lines('q', '.5 0 0 2 0 0 cm', 'q', '.5 0 0 .25 0 0 cm', background('1 0 0', '1200 800'), 'Q', 'Q')],
    ],
    ['clips', [lines('0 0 600 800 re', 'W', 'n', '0 0 600 800 re', 'W*', 'n', '/G1 gs', '1 0 0 RG', '1 w')]],
    ['marks', [lines('/P <</MCID 0>> BDC', 'BT', '/F1 12 Tf', '1 0 0 1 0 0 Tm', 'ET', 'EMC')]],
    ['a line that is not drawn', [lines('0 0 m', '9 9 l', '1 1 2 2 3 3 c', 'h', 'n')]],
  ])('is true for %s', (_, contents) => {
    expect(isBlank(...contents)).toBe(true);
  });

  test.each([
    ['a text', [lines('BT', '(a) Tj', 'ET')]],
    ['an image', [lines('q', '/X1 Do', 'Q')]],
    ['a stroke', [lines('0 0 600 800 re', 'S')]],
    ['two backgrounds', [lines(background(), background('0 1 0'))]],
    ['different backgrounds on the pages', [background(), background('0 1 0')]],
    ['a background that differs in one color component', [background('0 0 1'), background('0 0 .5')]],
    ['backgrounds whose colors have the same digits', [background('0 .51 0'), background('0 .5 10')]],
    ['a text on the second page', ['', '(a) Tj']],
    ['a narrow rectangle', [background('1 0 0', '299 800')]],
    ['a low rectangle', [background('1 0 0', '600 399')]],
    ['a rectangle that is scaled down', [lines('q', '.4 0 0 1 0 0 cm', background(), 'Q')]],
    ['a rectangle that is low in its scale', [lines('q', '1 0 0 .4 0 0 cm', background(), 'Q')]],
    ['a rotated rectangle', [lines('q', '1 1 0 1 0 0 cm', background('1 0 0', '6000 8000'), 'Q')]],
    ['a skewed rectangle', [lines('q', '1 0 1 1 0 0 cm', background('1 0 0', '6000 8000'), 'Q')]],
    ['a clip of a part', [lines('0 0 9 9 re', 'W', 'n', background())]],
    ['a shape of lines', [lines('0 0 m', '9 9 l', 'f')]],
    ['a shape from a line', [lines('9 9 l', 'f')]],
    ['a shape of curves', [lines('1 1 2 2 3 3 c', 'f')]],
    ['a shape from a point', [lines('0 0 m', 'f')]],
    ['a quote operator', [lines("(a) '")]],
  ])('is false for %s', (_, contents) => {
    expect(isBlank(...contents)).toBe(false);
  });

  test('restores the scale and the color', () => {
    const small = background('1 0 0', '200 200');
    expect(isBlank(lines('q', '3 0 0 4 0 0 cm', small, 'Q'))).toBe(true);
    expect(isBlank(lines('q', '3 0 0 4 0 0 cm', small, 'Q', small))).toBe(false);
    expect(isBlank(lines('1 0 0 rg', 'q', '0 1 0 rg', 'Q', '0 0 600 800 re', 'f', background()))).toBe(true);
    // The content has more ends than starts.
    expect(isBlank(lines('Q', background()))).toBe(true);
  });

  test('reads streams that are deflated, and is false for those that it cannot read', () => {
    const deflated = (content: string) => deflateSync(Buffer.from(content));
    const entries = '/Filter /FlateDecode ';
    expect(isBlankPdf(chromiumPdf({ contents: [deflated(background())], entries }), false)).toBe(true);
    expect(isBlankPdf(chromiumPdf({ contents: [deflated('(a) Tj')], entries }), false)).toBe(false);
    expect(isBlankPdf(chromiumPdf({ contents: [''], entries }), false)).toBe(false);
    const spaces = (count: number) => chromiumPdf({ contents: [deflated(' '.repeat(count))], entries });
    expect([isBlankPdf(spaces(1024 ** 2), false), isBlankPdf(spaces(1024 ** 2 + 1), false)]).toEqual([true, false]);
    const text = chromiumPdf({}).toString('latin1');
    for (const [from, to] of [
      ['/Length 0', '/Length 5 0 R'],
      ['/Length 0', '/Long 0'],
      ['>> stream', '>> strong'],
      ['/Contents 2', '/Contents 9'],
      ['xref\n0 3', 'xrof\n0 3'],
    ] as const)
      expect(isBlankPdf(Buffer.from(text.replace(from, to), 'latin1'), false), to).toBe(false);
  });

  test('ignores headers and footers', () => {
    const template = lines('q', '0 0 600 800 re', 'W n', '(a) Tj', 'q', 'Q', 'Q');
    const blank = (content: string, hasTemplates = true) =>
      isBlankPdf(chromiumPdf({ contents: [content] }), hasTemplates);
    expect(blank(lines('q', 'Q', template))).toBe(true);
    expect(blank(lines('q', 'Q', template.replace('W n', 'W* n')))).toBe(true);
    expect(blank(lines('q', 'Q', template), false)).toBe(false);
    expect(blank(lines('q', '(a) Tj', 'Q', template))).toBe(false);
    expect(blank(lines('q', 'Q', lines('q', '(a) Tj', 'Q')))).toBe(false);
    // The last group is the page.
    expect(blank(lines(template, 'q', '(b) Tj', 'Q'))).toBe(false);
    expect(blank(template)).toBe(true);
  });
});
