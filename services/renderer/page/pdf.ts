import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { maxSide } from '@webcapture/shared/api/formats.ts';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import { maxPaperMm, mmPerInch, paperSizeOf, pxPerInch } from '@webcapture/shared/api/paper.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { fileOf } from '../browser/file-responses.ts';
import { callTimeoutMs, lastCallTimeoutMs } from './deadline.ts';
import type { FullPage } from './full-page.ts';
import { emulateMediaType, type OpenPage } from './open.ts';
import { isBlankPdf, makeLinksRelative, type PrintedPdf, readPdf, spaceBookmarks } from './pdf-file.ts';
import { hasMoreCells, measurePage } from './scripts/measures.ts';
import { keepDarkScheme, readHeadings, usePaperAskedFor } from './scripts/print.ts';
import { noteFixedByPrint, noteFixedOnScreen, placeFixedOnce, printFixedHelpers } from './scripts/print-fixed.ts';
import { keepRevealed, revealedHelpers } from './scripts/revealed.ts';
import { findScroller, scrollerHelpers, unrollScroller } from './scripts/scrollers.ts';
import { cssMayUse } from './scripts/styles.ts';
import { everyElement } from './scripts/tree.ts';
import { assertHolds } from './size-limits.ts';
import { withLocalDates } from './template-date.ts';
import { step } from './world.ts';

interface Size {
  readonly width: number;
  readonly height: number;
}

const printTimeoutMs = 60_000;
/** Maximum factor by which Chromium shrinks content that is wider than the paper. */
const maxShrinking = 1.5;
/** Extra height of the single page in each printing round, in CSS pixels. The rounds end when one page holds the whole content. */
const slack = [0, 1, 8, 40, 160] as const;

/**
 * Prints the page.
 *
 * @param fullPage the page that is printed as a single page; undefined to print on paper
 * @throws ServiceError PAGE_TOO_LARGE, CAPTURE_TIMEOUT, CAPTURE_FAILED
 */
export async function printPdf(
  open: OpenPage,
  options: RenderOptions,
  fullPage: FullPage | undefined,
): Promise<PrintedPdf & { readonly blank: boolean }> {
  const { locale, timezone, colorScheme } = options;
  if (colorScheme === 'dark') {
    await open.world.call(keepDarkScheme, [], { timeoutMs: lastCallTimeoutMs, what: 'setting the color scheme' });
  }
  const pdf = locale === undefined ? options.pdf : withLocalDates(options.pdf, { locale, timezone, now: new Date() });
  // The headings are read before printing, because a page may navigate after it was printed.
  const headings = pdf.outline === true ? await headingsOf(open) : [];
  const printed = await (fullPage ? printWhole(open, { ...options, pdf }, fullPage) : printPaper(open, pdf));
  const blank = isBlankPdf(printed.bytes, headerAndFooter(pdf).displayHeaderFooter);
  return { ...printed, bytes: spaceBookmarks(printed.bytes, headings), blank };
}

function headingsOf({ world }: OpenPage): Promise<readonly string[]> {
  return world.call(readHeadings, [], { timeoutMs: lastCallTimeoutMs, what: 'reading headings' }, [everyElement]);
}

/**
 * Number of table cells for which Chromium needs one MiB. Measurements show that it needs more than 768 MiB to print tables with 54,000
 * cells. Other elements need less.
 */
const cellsOfMebibyte = 50_000 / 768;

const usingPaper = ({ margin, hasCssMargin, preferCssPageSize }: PdfOptions, isSinglePage: boolean) =>
  step(usePaperAskedFor, hasCssMargin === true ? null : margin, isSinglePage, preferCssPageSize === true);

/** Prints on as many sheets as the content needs. */
async function printPaper(open: OpenPage, pdf: PdfOptions): Promise<PrintedPdf> {
  const limit = { timeoutMs: lastCallTimeoutMs, what: 'what is on paper' };
  const steps = [
    usingPaper(pdf, false),
    step(keepRevealed),
    step(findScroller),
    step(unrollScroller),
    ...(pdf.fixed === 'repeat' ? [] : [step(placeFixedOnce)]),
  ];
  const helpers = [cssMayUse, everyElement, ...scrollerHelpers, ...revealedHelpers, ...printFixedHelpers];
  await open.world.callEach(steps, limit, helpers);
  return print(open, pdf, inInches(paperSizeOf(pdf)), pdf.pageRanges);
}

/**
 * Gives the page the layout of the paper: print media, in a viewport with the size of the paper without its margins. Scripts get the resize
 * event now and can redraw their charts, because they get no events during printing. Rejects tables whose printing would exceed the page's
 * memory limit after a minute.
 *
 * @throws ServiceError PAGE_TOO_LARGE
 * @returns the height of the paper without its margins, in CSS pixels
 */
export async function layOutForPaper(
  open: OpenPage,
  { pdf, media = 'print' }: Pick<RenderOptions, 'pdf' | 'media'>,
): Promise<{ readonly height: number }> {
  const { emulation, world, pageBytes } = open;
  const noting = { timeoutMs: callTimeoutMs, what: 'tables and fixed elements' };
  const helpers = [cssMayUse, everyElement, ...printFixedHelpers];
  const isNoted = media === 'print' && pdf.fixed !== 'repeat';
  const maxCells = Math.floor((pageBytes / 1024 ** 2) * cellsOfMebibyte);
  const measured = [step(hasMoreCells, maxCells), ...(isNoted ? [step(noteFixedOnScreen)] : [])] as const;
  const [hasTooMany] = await world.callEach(measured, noting, helpers);
  if (hasTooMany) {
    const message = `The tables of the page have more than ${maxCells} cells, and a pdf of them needs more memory than a page may use. Split the document.`;
    throw new ServiceError('PAGE_TOO_LARGE', message);
  }

  const { width, height } = pdf.preferCssPageSize === true ? await sizeByPage(open, pdf) : paperSizeOf(pdf);
  const inner = (side: number, margins: number) => Math.max(1, Math.floor(toPx(side - margins) / pdf.scale));
  const column = inner(width, pdf.margin.left + pdf.margin.right);
  const tall = inner(height, pdf.margin.top + pdf.margin.bottom);
  // The media type is set first, because scripts that handle the new width must see the print layout.
  await emulateMediaType(open, media, 'the print layout');
  if (isNoted) await world.call(noteFixedByPrint, [], noting, helpers);
  await emulation.setLayoutWidth(column, tall);
  return { height: tall };
}

/** Returns the paper size that the page's @page rules set, in millimeters. Only printing shows which rule applies. */
async function sizeByPage(open: OpenPage, pdf: PdfOptions): Promise<Size> {
  await open.world.callEach([usingPaper(pdf, false)], { timeoutMs: callTimeoutMs, what: 'setting the paper' });
  // The history is removed, because a page can use it to navigate back after printing.
  const forgotten = open.cdp.send('Page.resetNavigationHistory');
  await open.deadline.run(forgotten, callTimeoutMs, 'clearing the history');
  // Only the size of this print is used. Tags would take most of its time.
  const printed = await print(open, { ...pdf, tagged: false }, inInches(paperSizeOf(pdf)), '1');
  const [width, height] = [toMm(printed.width), toMm(printed.height)];
  if (Math.max(printed.width, printed.height) > maxSide.pdf) {
    const message = `The page sets a paper size of ${Math.round(width)} × ${Math.round(height)} mm, but a pdf page is limited to ${maxPaperMm} mm. Send the request without pdf.preferCssPageSize.`;
    throw new ServiceError('PAGE_TOO_LARGE', message);
  }
  return { width, height };
}

/**
 * Gives the page the layout of a single printed page that is as wide as the viewport: print media, and the width between the margins. Later
 * measurements then match the print.
 */
export async function layOutForPrint(open: OpenPage, options: RenderOptions): Promise<void> {
  const { emulation, world } = open;
  const { media = 'print' } = options;
  const column = columnOf(options);
  await emulateMediaType(open, media, 'the print layout');
  await emulation.setLayoutWidth(column);
  const { width } = await world.call(measurePage, [], { timeoutMs: callTimeoutMs, what: 'measuring' });
  // Content that is wider than the paper is shrunk, up to Chromium's limit.
  const wider = Math.min(width, Math.floor(column * maxShrinking));
  if (wider > column) await emulation.setLayoutWidth(wider);
}

/** Returns the width between the margins, in CSS pixels of the page's layout. */
function columnOf({ pdf, viewport }: RenderOptions): number {
  const column = Math.floor((viewport.width - toPx(pdf.margin.left + pdf.margin.right)) / pdf.scale);
  if (column < 1) throw noRoom();
  return column;
}

/** Prints one page, as wide as the viewport and as tall as the content. */
async function printWhole(open: OpenPage, options: RenderOptions, fullPage: FullPage): Promise<PrintedPdf> {
  const { pdf, viewport } = options;
  const limit = { timeoutMs: lastCallTimeoutMs, what: 'measuring' };
  const [, { contentHeight }] = await open.world.callEach([usingPaper(pdf, true), step(measurePage)], limit);
  // A page shorter than the viewport ends where its content ends.
  const flow = fullPage.height > viewport.height ? fullPage.height : Math.max(1, contentHeight);
  const content = fullPage.isLocked ? fullPage.height : flow;
  const scale = pdf.scale * (columnOf(options) / open.emulation.width);
  const height = Math.ceil(content * scale + toPx(pdf.margin.top + pdf.margin.bottom));
  assertHolds('pdf', viewport.width, height);

  let printed: PrintedPdf;
  let turn = 0;
  do {
    const tall = Math.min(height + (slack[turn] ?? 0), maxSide.pdf);
    const size = { width: viewport.width / pxPerInch, height: tall / pxPerInch };
    // If the page cannot be scrolled, content below the viewport is not printed.
    printed = await print(open, pdf, size, fullPage.isLocked ? '1' : '');
    turn += 1;
  } while (printed.pages > 1 && turn < slack.length);
  return printed;
}

const toPx = (mm: number) => (mm / mmPerInch) * pxPerInch;
const toMm = (px: number) => (px / pxPerInch) * mmPerInch;
const inInches = ({ width, height }: Size): Size => ({ width: width / mmPerInch, height: height / mmPerInch });

/**
 * @param size size of the paper, in inches
 * @param pageRanges pages to print; default: all
 */
async function print(
  { cdp, deadline }: OpenPage,
  { margin, printBackground, scale, preferCssPageSize, tagged, outline, ...templates }: PdfOptions,
  size: Size,
  pageRanges = '',
): Promise<PrintedPdf> {
  const inches = (mm: number) => mm / mmPerInch;
  const room = {
    width: size.width - inches(margin.left + margin.right),
    height: size.height - inches(margin.top + margin.bottom),
  };
  if (room.width <= 0 || room.height <= 0) throw noRoom();
  try {
    const response = await deadline.run(
      cdp.send('Page.printToPDF', {
        paperWidth: size.width,
        paperHeight: size.height,
        marginTop: inches(margin.top),
        marginRight: inches(margin.right),
        marginBottom: inches(margin.bottom),
        marginLeft: inches(margin.left),
        printBackground,
        scale,
        generateTaggedPDF: tagged ?? true,
        pageRanges,
        ...(preferCssPageSize === true ? { preferCSSPageSize: true } : {}),
        ...(outline === true ? { generateDocumentOutline: true } : {}),
        ...headerAndFooter(templates),
      }),
      printTimeoutMs,
      'printing',
    );
    return readPdf(makeLinksRelative(fileOf(response)));
  } catch (error) {
    if (error instanceof DeadlineError) {
      throw new ServiceError('CAPTURE_TIMEOUT', 'Printing the page took too long.', { causedBy: 'page', cause: error });
    }
    if (error instanceof Error && error.message.includes('Printing failed')) throw notPrinted(error, templates);
    if (error instanceof Error && error.message.includes('Page range exceeds page count')) {
      const message = `pdf.pageRanges ${JSON.stringify(pageRanges)} selects no page of the document.`;
      throw new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client', cause: error });
    }
    throw error;
  }
}

type Templates = Pick<PdfOptions, 'headerTemplate' | 'footerTemplate'>;

function notPrinted(cause: Error, { headerTemplate, footerTemplate }: Templates): ServiceError {
  // In measurements, 21,000 links were printed, but 33,600 were not. Even without tags, they exceeded the memory limit of a page.
  const many = 'too many links and elements for a pdf, which holds about 20,000 links';
  if (headerTemplate === undefined && footerTemplate === undefined) {
    return new ServiceError('PAGE_TOO_LARGE', `The page has ${many}. Use png or jpeg.`, { cause });
  }
  const message = `The header or footer of the pdf uses a resource that is not embedded in it, such as a font, or the page has ${many}.`;
  return new ServiceError('CAPTURE_FAILED', message, { causedBy: 'client', cause });
}

/** Content of an empty template. Without any content, Chromium would write its own header or footer. */
const emptyTemplate = '<span></span>';

function headerAndFooter({ headerTemplate, footerTemplate }: Templates) {
  if (headerTemplate === undefined && footerTemplate === undefined) return { displayHeaderFooter: false };
  return {
    displayHeaderFooter: true,
    headerTemplate: headerTemplate ?? emptyTemplate,
    footerTemplate: footerTemplate ?? emptyTemplate,
  };
}

function noRoom(): ServiceError {
  return new ServiceError('CAPTURE_FAILED', 'The margins of the pdf leave no room for the page.', {
    causedBy: 'client',
  });
}
