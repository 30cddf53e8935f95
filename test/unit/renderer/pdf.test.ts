import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { describe, expect, test, vi } from 'vitest';
import type { FullPage } from '../../../services/renderer/page/full-page.ts';
import { layOutForPrint, printPdf } from '../../../services/renderer/page/pdf.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { chromiumPdf } from '../../harness/chromium-pdf.ts';
import { answerOfPrint, noMargin, optionsOf, printing, type PrintChanges } from '../../harness/printing.ts';
import { defaultOptions } from '../../harness/records.ts';

const { pdf: defaultPdf } = defaultOptions;
const [one, two] = [chromiumPdf({}), chromiumPdf({ contents: ['', ''] })];

interface Printing extends PrintChanges {
  readonly fullPage?: Partial<FullPage>;
  readonly answers?: object;
  readonly parts?: object;
}

/** Prints a page. Returns the file, and the parameters of each print. */
async function print({ fullPage, answers, parts, ...options }: Printing = {}) {
  const page = new AnsweringPage(
    { 'Page.printToPDF': printing(one), measurePage: { contentHeight: 300 }, ...answers },
    parts,
  );
  const whole = { left: 0, truncated: false, isLocked: false, strategy: 'single', height: 480, ...fullPage } as const;
  const printed = await printPdf(page.open, optionsOf(options), fullPage && whole);
  const prints = page.calls.flatMap(([name, params]) => (name === 'Page.printToPDF' ? [params as never] : []));
  return { page, printed, prints: prints as Readonly<Record<string, unknown>>[] };
}

const failing = (error: unknown) => ({ answers: { 'Page.printToPDF': () => Promise.reject(error as Error) } });

describe('printPdf on paper', () => {
  test('prints all pages, with margins and without header, footer and outline', async () => {
    const { page, printed, prints } = await print();
    const margin = 10 / 25.4;
    expect(prints).toEqual([
      {
        paperWidth: 210 / 25.4,
        paperHeight: 297 / 25.4,
        marginTop: margin,
        marginRight: margin,
        marginBottom: margin,
        marginLeft: margin,
        printBackground: true,
        scale: 1,
        generateTaggedPDF: true,
        pageRanges: '',
        displayHeaderFooter: false,
      },
    ]);
    expect(page.calls.slice(0, -1)).toEqual([
      ['usePaperAskedFor', defaultPdf.margin, false, false],
      ['keepRevealed'],
      ['findScroller'],
      ['unrollScroller'],
      ['placeFixedOnce'],
    ]);
    expect(printed).toEqual({ bytes: one, width: 800, height: 1067, pages: 1, blank: true });
  });

  test('prints what the options say', async () => {
    const pdf = {
      paper: { width: 100, height: 50 },
      margin: { top: 1, right: 2, bottom: 3, left: 4 },
      printBackground: false,
      scale: 0.5,
      tagged: false,
      outline: true,
      preferCssPageSize: true,
      hasCssMargin: true,
      pageRanges: '2-3',
      fixed: 'repeat',
      footerTemplate: '<p>footer</p>',
    } as const;
    const { page, prints } = await print({ pdf, answers: { readHeadings: [] } });
    expect(prints).toEqual([
      {
        paperWidth: 100 / 25.4,
        paperHeight: 50 / 25.4,
        marginTop: 1 / 25.4,
        marginRight: 2 / 25.4,
        marginBottom: 3 / 25.4,
        marginLeft: 4 / 25.4,
        printBackground: false,
        scale: 0.5,
        generateTaggedPDF: false,
        generateDocumentOutline: true,
        preferCSSPageSize: true,
        pageRanges: '2-3',
        displayHeaderFooter: true,
        headerTemplate: '<span></span>',
        footerTemplate: '<p>footer</p>',
      },
    ]);
    expect(page.calls).toContainEqual(['usePaperAskedFor', null, false, true]);
    expect(page.names).not.toContain('placeFixedOnce');
    const header = await print({ pdf: { headerTemplate: '<p>header</p>' } });
    const templates = { headerTemplate: '<p>header</p>', footerTemplate: '<span></span>' };
    expect(header.prints).toMatchObject([{ displayHeaderFooter: true, ...templates }]);
  });

  test('keeps the dark scheme of a page only with colorScheme dark', async () => {
    const { page } = await print({ colorScheme: 'dark' });
    expect(page.calls[0]).toEqual(['keepDarkScheme']);
    expect((await print()).page.names).not.toContain('keepDarkScheme');
  });

  test('writes dates of header and footer in the locale and time zone', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 31, 23, 30) });
    try {
      const pdf = { headerTemplate: '<span class="date"></span>' };
      const { prints } = await print({ pdf, locale: 'de-DE', timezone: 'Europe/Berlin' });
      expect(prints[0]?.['headerTemplate']).toContain('01.02.26, 00:30');
      expect((await print({ pdf })).prints[0]?.['headerTemplate']).toBe(pdf.headerTemplate);
    } finally {
      vi.useRealTimers();
    }
  });

  test('restores the spaces of bookmarks', async () => {
    const bookmark = '<</Title (Onetwo)\n/Dest [1 0 R /XYZ 0 800 0]>>';
    const answers = {
      'Page.printToPDF': () => answerOfPrint(chromiumPdf({ objects: [bookmark] })),
      readHeadings: ['One two'],
    };
    const { page, printed } = await print({ pdf: { outline: true }, answers });
    expect(page.calls[0]).toEqual(['readHeadings']);
    expect(printed.bytes.toString('latin1').match(/\/Title/g)).toHaveLength(2);
    const without = await print({ answers });
    expect(without.page.names).not.toContain('readHeadings');
    expect(without.printed.bytes.toString('latin1').match(/\/Title/g)).toHaveLength(1);
  });

  test('ignores header and footer when it decides whether the page is blank', async () => {
    const footer = 'q\n0 0 600 800 re\nW n\n(a) Tj\nQ';
    const answers = { 'Page.printToPDF': () => answerOfPrint(chromiumPdf({ contents: [footer] })) };
    expect((await print({ answers, pdf: { footerTemplate: 'a' } })).printed.blank).toBe(true);
    expect((await print({ answers })).printed.blank).toBe(false);
  });

  test('refuses margins that leave no room', async () => {
    const noRoom = { code: 'CAPTURE_FAILED', causedBy: 'client', message: expect.stringContaining('leave no room') };
    const printWith = (margin: Partial<typeof noMargin>) =>
      print({ pdf: { paper: { width: 100, height: 50 }, margin: { ...noMargin, ...margin } } });
    for (const margin of [
      { left: 50, right: 50 },
      { left: 100 },
      { right: 101 },
      { top: 25, bottom: 25 },
      { top: 50 },
      { bottom: 51 },
    ])
      await expect(printWith(margin), JSON.stringify(margin)).rejects.toMatchObject(noRoom);
    await printWith({ left: 50, right: 49, top: 25, bottom: 24 });
  });

  test('blames the page for a print that takes too long', async () => {
    const error = { code: 'CAPTURE_TIMEOUT', causedBy: 'page', message: 'Printing the page took too long.' };
    const cause = new DeadlineError('printing', 1);
    await expect(print(failing(cause))).rejects.toMatchObject({ ...error, cause });
  });

  test('explains why the browser cannot print', async () => {
    const cause = new Error('Protocol error: Printing failed');
    const plain = { code: 'PAGE_TOO_LARGE', message: expect.stringMatching(/^The page has too many links .* png/) };
    await expect(print(failing(cause))).rejects.toMatchObject({ ...plain, cause });
    const templates = {
      code: 'CAPTURE_FAILED',
      causedBy: 'client',
      message: expect.stringMatching(/^The header or footer .* too many links/),
    };
    for (const pdf of [{ headerTemplate: 'a' }, { footerTemplate: 'a' }])
      await expect(print({ ...failing(cause), pdf })).rejects.toMatchObject({ ...templates, cause });
  });

  test('refuses page ranges without a page, and passes other errors on', async () => {
    const pdf = { pageRanges: '9-' };
    const cause = new Error('Protocol error: Page range exceeds page count');
    await expect(print({ ...failing(cause), pdf })).rejects.toMatchObject({
      code: 'CAPTURE_FAILED',
      causedBy: 'client',
      message: 'pdf.pageRanges "9-" selects no page of the document.',
      cause,
    });
    for (const other of [new Error('Target closed'), 'Printing failed'])
      await expect(print(failing(other))).rejects.toBe(other);
  });
});

describe('printPdf of one page', () => {
  const whole = (fullPage: Partial<FullPage>, more: Omit<Printing, 'fullPage'> = {}) =>
    print({ fullPage, ...more, pdf: { margin: noMargin, ...more.pdf } });
  const heightsOf = async (...args: Parameters<typeof whole>) =>
    (await whole(...args)).prints.map(({ paperHeight }) => (paperHeight as number) * 96);

  test('is as wide as the viewport and as tall as the page', async () => {
    const { page, prints, printed } = await whole({ height: 1200 });
    expect(page.calls[0]).toEqual(['usePaperAskedFor', noMargin, true, false]);
    expect(prints).toMatchObject([{ paperWidth: 640 / 96, paperHeight: 1200 / 96, pageRanges: '' }]);
    expect(printed).toMatchObject({ pages: 1, blank: true });
  });

  test('ends where the content of a short page ends', async () => {
    expect(await heightsOf({ height: 480 })).toEqual([300]);
    expect(await heightsOf({ height: 481 })).toEqual([481]);
    const empty = { answers: { measurePage: { contentHeight: 0 } } };
    expect(await heightsOf({ height: 480 }, empty)).toEqual([1]);
  });

  test('holds only the viewport of a page that blocks scrolling', async () => {
    const { prints } = await whole({ height: 480, isLocked: true });
    expect(prints).toMatchObject([{ paperHeight: 480 / 96, pageRanges: '1' }]);
  });

  test('is as tall as the scaled content and the margins', async () => {
    const margin = { top: 25.4, right: 12.7, bottom: 50.8, left: 12.7 };
    const column = (640 - 96) / 2;
    const parts = { emulation: { width: column } };
    expect(await heightsOf({ height: 1000 }, { pdf: { margin, scale: 2 }, parts })).toEqual([2000 + 3 * 96]);
    // Content wider than the column is shrunk.
    const wide = { emulation: { width: column * 1.25 } };
    expect(await heightsOf({ height: 1000 }, { pdf: { margin, scale: 2 }, parts: wide })).toEqual([1600 + 3 * 96]);
  });

  test('is refused if a page of a PDF cannot hold it', async () => {
    await expect(whole({ height: 19_201 })).rejects.toMatchObject({ code: 'PAGE_TOO_LARGE' });
    expect(await heightsOf({ height: 19_200 })).toEqual([19_200]);
  });

  test('grows until one page holds the content, at most four times and to the maximum of a PDF', async () => {
    const third = { answers: { 'Page.printToPDF': printing(two, two, one) } };
    expect(await heightsOf({ height: 1000 }, third)).toEqual([1000, 1001, 1008]);
    const never = () => ({ answers: { 'Page.printToPDF': printing(two, two, two, two, two) } });
    expect(await heightsOf({ height: 1000 }, never())).toEqual([1000, 1001, 1008, 1040, 1160]);
    expect((await whole({ height: 1000 }, never())).printed.pages).toBe(2);
    expect(await heightsOf({ height: 19_190 }, never())).toEqual([19_190, 19_191, 19_198, 19_200, 19_200]);
  });

  test('refuses margins that leave no column', async () => {
    const margin = { ...noMargin, left: 25.4, right: 25.4 };
    const options = optionsOf({ pdf: { margin }, viewport: { width: 192, height: 480, deviceScaleFactor: 1 } });
    const page = new AnsweringPage({});
    await expect(layOutForPrint(page.open, options)).rejects.toMatchObject({ causedBy: 'client' });
    expect(page.calls).toEqual([]);
    const viewport = { ...options.viewport, width: 193 };
    await whole({}, { pdf: { margin }, viewport, parts: { emulation: { width: 1 } } });
  });
});
