import { describe, expect, test } from 'vitest';
import { readFacts } from '../harness/pdf-facts.ts';
import { rasterPage } from '../harness/pdf-raster.ts';
import { stripeColor } from '../harness/site/pages/tall-pages.ts';
import { useFleet, useSite } from '../harness/use.ts';

const fleet = useFleet();
const site = useSite();

/** Converts a length in millimeters to points. */
const points = (mm: number) => (mm / 25.4) * 72;
const cssPixels = (mm: number) => Math.round((mm / 25.4) * 96);

const papers = [
  ['A6', 105, 148],
  ['Ledger', 431.8, 279.4],
] as const;

describe.concurrent('paper', () => {
  test.for(papers)('%s', { tags: 'long' }, async ([paper, width, height]) => {
    const { data, pdf } = await fleet().api.pdf({ url: site().url('/text'), pdf: { paper } });
    expect(pdf.pages).toHaveLength(1);
    const [page] = pdf.pages;
    expect(Math.abs((page?.width ?? 0) - points(width))).toBeLessThan(1.5);
    expect(Math.abs((page?.height ?? 0) - points(height))).toBeLessThan(1.5);
    // The metadata contain the size of the first page in CSS pixels.
    expect(Math.abs(data.metadata.width - cssPixels(width))).toBeLessThanOrEqual(2);
    expect(Math.abs(data.metadata.height - cssPixels(height))).toBeLessThanOrEqual(2);
    expect(data.metadata).toMatchObject({ format: 'pdf', mimeType: 'application/pdf' });
    expect(data.fileUrl).toMatch(/\.pdf$/);
  });

  test('A4 is the default', async () => {
    const { pdf } = await fleet().api.pdf({ url: site().url('/text') });
    expect(Math.abs((pdf.pages[0]?.width ?? 0) - points(210))).toBeLessThan(1.5);
  });

  test('landscape rotates it', { tags: 'long' }, async () => {
    const { data, pdf } = await fleet().api.pdf({ url: site().url('/text'), pdf: { landscape: true } });
    expect(pdf.pages[0]?.width).toBeGreaterThan(pdf.pages[0]?.height ?? Infinity);
    expect(data.metadata.width).toBeGreaterThan(data.metadata.height);
  });
});

describe.concurrent('content', () => {
  test('is text on each page, and the document has the title of the page', async () => {
    const { pdf } = await fleet().api.pdf({ url: site().url('/document', { n: 3, title: 'Three sections' }) });
    expect(pdf.pages).toHaveLength(3);
    expect(pdf.pages.map(({ text }) => /Section number \d/.exec(text)?.[0])).toEqual([
      'Section number 1',
      'Section number 2',
      'Section number 3',
    ]);
    expect(pdf.title).toBe('Three sections');
  });

  test('printBackground, the default, prints colors', async () => {
    const url = site().url('/color');
    const { bytes } = await fleet().api.pdf({ url });
    const picture = await rasterPage(bytes);
    expect(picture.difference(picture.width / 2, picture.height / 2, '#00ff00')).toBeLessThanOrEqual(4);
  });

  test('colorScheme applies on paper too', async () => {
    const { bytes } = await fleet().api.pdf({ url: site().url('/scheme'), colorScheme: 'dark', pdf: { margin: 0 } });
    expect((await rasterPage(bytes)).share('#101010', 4)).toBeGreaterThan(0.95);
  });
});

test('custom paper, selected pages, a footer and bookmarks', async () => {
  const { data, pdf } = await fleet().api.pdf({
    html: '<h1>one</h1><h1 style="break-before:page">two</h1><h1 style="break-before:page">three</h1>',
    pdf: {
      width: '100mm',
      height: 150,
      pageRanges: '2, 3-',
      footerTemplate: '<b style="font-size:10px"><i class="pageNumber"></i>/<i class="totalPages"></i></b>',
      outline: true,
    },
  });
  expect(pdf.pages.map(({ text }) => text)).toEqual(['two 2 / 3', 'three 3 / 3']);
  expect(pdf.outline).toEqual(['two', 'three']);
  const size = [data.metadata.width, data.metadata.height];
  for (const [index, mm] of [100, 150].entries()) {
    expect(Math.abs((size[index] ?? 0) - cssPixels(mm))).toBeLessThanOrEqual(2);
  }
});

describe.concurrent('margin', { tags: 'long' }, () => {
  /** Position of the text of a page without margins, in millimeters from the left and top edge. */
  const textAt = async (margin: unknown) => {
    const html = '<body style="margin:0"><p style="margin:0;font:20px/20px sans-serif">Here</p>';
    const { pdf } = await fleet().api.pdf({ html, ...(margin === undefined ? {} : { pdf: { margin } }) });
    const [piece] = pdf.pages[0]?.pieces ?? [];
    const mm = (value: number) => (value / 72) * 25.4;
    // The baseline is about 15 px, 4 mm, below the top of the line.
    return { left: mm(piece?.x ?? Number.NaN), top: mm(piece?.y ?? Number.NaN) - 4.1 };
  };

  test.for([
    [undefined, 10, 10],
    [0, 0, 0],
    [25, 25, 25],
    [12.5, 12.5, 12.5],
    ['30mm', 30, 30],
    ['3cm', 30, 30],
    ['1in', 25.4, 25.4],
    ['96px', 25.4, 25.4],
    [{ left: 40 }, 40, 10],
    [{ top: '2cm', left: 0 }, 0, 20],
    [{}, 10, 10],
  ] as const)('%j', async ([margin, left, top]) => {
    const at = await textAt(margin);
    expect(Math.abs(at.left - left)).toBeLessThan(1);
    expect(Math.abs(at.top - top)).toBeLessThan(1.5);
  });

  test.for([
    [{ margin: 150 }, {}],
    [{ paper: 'A6', margin: { left: '60mm', right: '50mm' } }, {}],
    [{ margin: { left: 200, right: 200 } }, { isFullPage: true }],
  ] as const)('%j leaves no space', async ([pdf, rest]) => {
    const refusal = await fleet().api.refused({ url: site().url('/text'), format: 'pdf', pdf, ...rest });
    expect(refusal).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(refusal.message).toMatch(/margin/);
  });
});

describe.concurrent('scale', { tags: 'long' }, () => {
  test.for([2])('of %d scales the text', async (scale) => {
    const { pdf } = await fleet().api.pdf({ url: site().url('/text'), pdf: { scale } });
    // 16 CSS pixels are 12 points.
    expect(Math.abs((pdf.pages[0]?.pieces[0]?.size ?? 0) - 12 * scale)).toBeLessThan(0.3);
  });
});

describe.concurrent('isFullPage', { tags: 'long' }, () => {
  test('makes one page with the height of the content', async () => {
    const { data, pdf, bytes } = await fleet().api.pdf({
      url: site().url('/tall', { h: 4000 }),
      isFullPage: true,
      pdf: { margin: 0 },
    });
    expect(pdf.pages).toHaveLength(1);
    expect(Math.abs(data.metadata.height - 4000)).toBeLessThanOrEqual(2);
    expect(data.metadata.width).toBe(1280);
    expect(Math.abs((pdf.pages[0]?.height ?? 0) - 3000)).toBeLessThan(2);
    const picture = await rasterPage(bytes);
    for (const stripe of [0, 13, 39]) {
      const y = Math.round(((stripe * 100 + 50) * picture.height) / 4000);
      expect(picture.difference(picture.width / 2, y, stripeColor(stripe))).toBeLessThanOrEqual(4);
    }
  });
});

test('a merge has the pages, links and bookmarks that Chromium prints', { tags: 'long' }, async () => {
  const { api } = fleet();
  const chapters = (name: string) =>
    `<title>${name}</title><h1>${name} one</h1><a href="#last">on</a><h1 id="last" style="break-before:page">${name} two</h1>`;
  const { data } = await api.pdf({ html: chapters('a'), pdf: { outline: true } });
  const documents = [
    { request: { html: chapters('b'), pdf: { outline: true } } },
    { capture: data.uuid },
    { request: { url: site().url('/document', { n: 2, title: 'Sections' }) } },
  ];
  const response = await api.request('/pdf/merge', {
    method: 'POST',
    headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ documents, pageLabels: 'perDocument' }),
  });
  expect(response.headers.get('content-type')).toBe('application/pdf');
  const bytes = Buffer.from(await response.arrayBuffer());
  const { texts, targets, labels, bookmarks } = await readFacts(bytes);
  expect(texts.map((text) => text.slice(0, 5).trim())).toEqual(['b one', 'b two', 'a one', 'a two', 'Secti', 'Secti']);
  expect(targets).toEqual([1, 3]);
  expect(labels).toEqual(['1-1', '1-2', '2-1', '2-2', '3-1', '3-2']);
  expect(bookmarks).toEqual([
    { title: 'b', page: 0 },
    { title: 'b one', page: 0 },
    { title: 'b two', page: 1 },
    { title: 'a', page: 2 },
    { title: 'a one', page: 2 },
    { title: 'a two', page: 3 },
    { title: 'Sections', page: 4 },
  ]);
  const before = await rasterPage((await api.pdf({ html: chapters('b') })).bytes);
  const after = await rasterPage(bytes);
  expect([after.width, after.height]).toEqual([before.width, before.height]);
});
