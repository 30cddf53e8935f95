import type { PdfOptions, RenderOptions } from '@webcapture/shared/contract/render-options.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { DeadlineError } from '@webcapture/shared/lifecycle/deadline.ts';
import { measurePage } from './in-page/measure-page.ts';
import { nextFrame } from './in-page/next-frame.ts';
import type { OpenPage } from './open.ts';
import { assertHolds } from './page-limits.ts';
import { mmPerInch, paperMm, ptPerInch, pxPerInch } from './paper.ts';

export interface PrintedPdf {
  readonly bytes: Buffer;
  /** Of the first page, in CSS pixels. */
  readonly width: number;
  readonly height: number;
}

const printMs = 60_000;
const callMs = 5000;
/** Printing rounds: the page of the whole content is made so much taller, in CSS pixels, until it holds all. */
const slack = [1, 8, 40, 160] as const;

/**
 * Prints the page.
 *
 * @throws ServiceError PAGE_TOO_LARGE, CAPTURE_TIMEOUT, CAPTURE_FAILED, and VALIDATION_ERROR when the margins leave no room
 */
export async function printPdf(open: OpenPage, options: RenderOptions): Promise<PrintedPdf> {
  return options.isFullPage ? printWhole(open, options) : printPaper(open, options.pdf);
}

/** As many pages of paper as it takes. */
async function printPaper(open: OpenPage, pdf: PdfOptions): Promise<PrintedPdf> {
  const [width, height] = paperMm[pdf.paper];
  const size = pdf.landscape ? { width: height, height: width } : { width, height };
  return print(open, pdf, { width: size.width / mmPerInch, height: size.height / mmPerInch });
}

/** One page, as wide as the viewport and as tall as the content. */
async function printWhole(open: OpenPage, { pdf, viewport }: RenderOptions): Promise<PrintedPdf> {
  const { world, page, metrics, lifeline } = open;
  const { top, right, bottom, left } = pdf.margin;
  const toPx = (mm: number) => (mm / mmPerInch) * pxPerInch;
  const column = Math.floor((viewport.width - toPx(left + right)) / pdf.scale);
  if (column < 1) throw noRoom();
  // Paper is laid out by other rules than the screen, in a column without the margins.
  await lifeline.run(page.emulateMedia({ media: 'print' }), callMs, 'the print layout');
  await lifeline.run(metrics.layOut(column, viewport.height), callMs, 'the print layout');
  await world.call(nextFrame, [2], { ms: callMs, what: 'a frame' });
  const { contentHeight, height } = await world.call(measurePage, [], { ms: callMs, what: 'measuring' });
  // A page shorter than the viewport ends where its content does.
  const content = Math.max(1, height > viewport.height ? height : contentHeight);

  for (const extra of slack) {
    const tall = Math.ceil(content * pdf.scale + toPx(top + bottom)) + extra;
    assertHolds('pdf', viewport.width, tall - extra);
    const size = { width: viewport.width / pxPerInch, height: Math.min(tall, 19_200) / pxPerInch };
    const printed = await print(open, pdf, size);
    if (printed.pages === 1 || extra === slack.at(-1)) return printed;
  }
  throw new ServiceError('CAPTURE_FAILED');
}

/** @param size of the paper, in inches */
async function print(
  { cdp, lifeline }: OpenPage,
  { margin, printBackground, scale }: PdfOptions,
  size: { readonly width: number; readonly height: number },
): Promise<PrintedPdf & { readonly pages: number }> {
  const inches = (mm: number) => mm / mmPerInch;
  const room = {
    width: size.width - inches(margin.left + margin.right),
    height: size.height - inches(margin.top + margin.bottom),
  };
  if (room.width <= 0 || room.height <= 0) throw noRoom();
  try {
    const { data } = await lifeline.run(
      cdp.send('Page.printToPDF', {
        paperWidth: size.width,
        paperHeight: size.height,
        marginTop: inches(margin.top),
        marginRight: inches(margin.right),
        marginBottom: inches(margin.bottom),
        marginLeft: inches(margin.left),
        printBackground,
        scale,
        generateTaggedPDF: true,
      }),
      printMs,
      'printing',
    );
    return readPdf(Buffer.from(data, 'base64'));
  } catch (error) {
    if (error instanceof DeadlineError) {
      throw new ServiceError('CAPTURE_TIMEOUT', 'Printing the page took too long.', { cause: error });
    }
    throw error;
  }
}

/** Reads what Chromium writes in plain: the size of the first page and the number of pages. */
function readPdf(bytes: Buffer): PrintedPdf & { readonly pages: number } {
  const text = bytes.toString('latin1');
  const box = /\/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]/.exec(text);
  const pages = text.match(/\/Type \/Page\b/g)?.length ?? 0;
  if (box === null || pages === 0) {
    throw new ServiceError('CAPTURE_FAILED', 'The browser made an empty file of the page. Send the request again.');
  }
  const toPx = (points: string | undefined) => Math.round((Number(points) / ptPerInch) * pxPerInch);
  return { bytes, width: toPx(box[1]), height: toPx(box[2]), pages };
}

function noRoom(): ServiceError {
  return new ServiceError('VALIDATION_ERROR', 'The margins of the pdf leave no room for the page.');
}
