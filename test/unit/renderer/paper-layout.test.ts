import { describe, expect, test } from 'vitest';
import { layOutForPaper, layOutForPrint } from '../../../services/renderer/page/pdf.ts';
import { AnsweringPage } from '../../harness/answering-page.ts';
import { chromiumPdf } from '../../harness/chromium-pdf.ts';
import { noMargin, optionsOf, printing, type PrintChanges } from '../../harness/printing.ts';

describe('layOutForPaper', () => {
  const layOut = async ({ pdf, ...options }: PrintChanges = {}, answers = {}) => {
    const page = new AnsweringPage(answers, { pageBytes: 1024 ** 3 });
    const size = await layOutForPaper(page.open, optionsOf({ ...options, pdf: { paper: 'A4', ...pdf } }));
    return { page, size };
  };
  /** The area of an A4 page inside margins of 10 mm. */
  const [width, height] = [Math.floor((190 / 25.4) * 96), Math.floor((277 / 25.4) * 96)];

  test('lays the page out in the column of the paper, in print media', async () => {
    const { page, size } = await layOut();
    expect(page.calls).toEqual([
      ['hasMoreCells', 66_666],
      ['noteFixedOnScreen'],
      ['emulateMedia', { media: 'print' }],
      ['noteFixedByPrint'],
      ['setLayoutWidth', width, height],
    ]);
    expect(size).toEqual({ height });
    // The next capture of the page is laid out for the screen.
    for (const undo of page.undo) await undo();
    expect(page.calls.at(-1)).toEqual(['emulateMedia', { media: null }]);
  });

  test('refuses tables that need more memory than a page may use', async () => {
    const page = new AnsweringPage({ hasMoreCells: true }, { pageBytes: 1536 * 1024 ** 2 });
    await expect(layOutForPaper(page.open, optionsOf())).rejects.toMatchObject({
      code: 'PAGE_TOO_LARGE',
      message: expect.stringContaining('more than 100000 cells'),
    });
    expect(page.calls.slice(0, 1)).toEqual([['hasMoreCells', 100_000]]);
    expect(page.names).not.toContain('emulateMedia');
  });

  test('notes fixed elements only if print media may change them and they are printed once', async () => {
    const without = [
      ['hasMoreCells', 66_666],
      ['emulateMedia', { media: 'screen' }],
      ['setLayoutWidth', width, height],
    ];
    expect((await layOut({ media: 'screen' })).page.calls).toEqual(without);
    expect((await layOut({ pdf: { fixed: 'repeat' } })).page.names).toEqual([
      'hasMoreCells',
      'emulateMedia',
      'setLayoutWidth',
    ]);
  });

  test('scales the column, which is at least one pixel wide', async () => {
    const { page } = await layOut({ pdf: { scale: 2, margin: { top: 25.4, right: 12.7, bottom: 0, left: 25.4 } } });
    const column = [Math.floor(((210 / 25.4 - 1.5) * 96) / 2), Math.floor(((297 / 25.4 - 1) * 96) / 2)];
    expect(page.calls.at(-1)).toEqual(['setLayoutWidth', ...column]);
    const none = await layOut({ pdf: { margin: { top: 200, right: 110, bottom: 200, left: 110 } } });
    expect(none.page.calls.at(-1)).toEqual(['setLayoutWidth', 1, 1]);
  });

  test('takes the size of the paper from a print of the first page with preferCssPageSize', async () => {
    const pdf = { preferCssPageSize: true, margin: noMargin } as const;
    const answers = { 'Page.printToPDF': printing(chromiumPdf({ size: [720, 1440] })) };
    const { page } = await layOut({ pdf }, answers);
    expect(page.names.slice(0, 2)).toEqual(['hasMoreCells', 'noteFixedOnScreen']);
    expect(page.calls.slice(2, 4)).toEqual([
      ['usePaperAskedFor', noMargin, false, true],
      ['Page.resetNavigationHistory'],
    ]);
    const asked = { paperWidth: 210 / 25.4, pageRanges: '1', generateTaggedPDF: false, preferCSSPageSize: true };
    expect(page.calls[4]).toMatchObject(['Page.printToPDF', asked]);
    expect(page.calls.at(-1)).toEqual(['setLayoutWidth', 960, 1920]);
    expect((await layOut()).page.names).not.toContain('Page.printToPDF');
  });

  test('refuses paper that is larger than a page of a PDF can be', async () => {
    const sized = (size: readonly [number, number]) =>
      layOut({ pdf: { preferCssPageSize: true } }, { 'Page.printToPDF': printing(chromiumPdf({ size })) });
    await sized([14_400, 72]);
    for (const [size, text] of [
      [[14_472, 72], '5105 × 25 mm'],
      [[72, 14_472], '25 × 5105 mm'],
    ] as const)
      await expect(sized(size)).rejects.toMatchObject({
        code: 'PAGE_TOO_LARGE',
        message: expect.stringContaining(`a paper size of ${text}, but a pdf page is limited to 5080 mm`),
      });
  });
});

describe('layOutForPrint', () => {
  const layOut = async (width: number, options: PrintChanges = {}) => {
    const page = new AnsweringPage({ measurePage: { width } });
    await layOutForPrint(page.open, optionsOf(options));
    return page.calls;
  };
  const margin = { ...noMargin, left: 25.4, right: 25.4 };

  test('lays the page out in the column that the margins leave, in print media', async () => {
    expect(await layOut(448, { pdf: { margin } })).toEqual([
      ['emulateMedia', { media: 'print' }],
      ['setLayoutWidth', 448],
      ['measurePage'],
    ]);
    const [media, column] = await layOut(100, { media: 'screen', pdf: { margin, scale: 2 } });
    expect([media, column]).toEqual([
      ['emulateMedia', { media: 'screen' }],
      ['setLayoutWidth', 224],
    ]);
  });

  test('widens the layout for content that is wider than the column, by at most half', async () => {
    const widths = async (width: number) =>
      (await layOut(width, { pdf: { margin } })).filter(([name]) => name === 'setLayoutWidth').map(([, each]) => each);
    expect(await widths(500)).toEqual([448, 500]);
    expect(await widths(2000)).toEqual([448, 672]);
  });
});
