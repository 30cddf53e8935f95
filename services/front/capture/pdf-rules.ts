import { attachmentsOf, brokenDocumentRules } from './document-rules.ts';
import { maxMarginMm, maxTemplateBytes, type PdfOptions, pdfSchema } from '@webcapture/shared/api/pdf-options.ts';
import {
  defaultFixed,
  maxPaperMm,
  minPaperMm,
  mmPerInch,
  paperSizeOf,
  pxPerInch,
} from '@webcapture/shared/api/paper.ts';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { refusedInTemplate } from './template-rules.ts';

type PdfRequest = NonNullable<CaptureRequest['pdf']>;
type Length = number | string;

/** Yields the violated rules of the page set-up that a schema cannot express. */
export function* brokenPdfRules({ isFullPage, pdf }: Pick<CaptureRequest, 'isFullPage' | 'pdf'>): Generator<string> {
  if (pdf === undefined) return;
  const { paper, landscape, width, height, pageRanges = '' } = pdf;
  if ((width === undefined) !== (height === undefined)) yield 'pdf.width and pdf.height need each other: send both';
  for (const name of ['width', 'height'] as const) {
    const length = pdf[name];
    if (length === undefined) continue;
    const millimeters = inMillimeters(length);
    if (millimeters >= minPaperMm && millimeters <= maxPaperMm) continue;
    yield `pdf.${name} must be from ${minPaperMm} to ${maxPaperMm} mm, not ${length}`;
  }
  if (width !== undefined || height !== undefined) {
    if (paper !== undefined) yield 'pdf.paper: send either pdf.paper or pdf.width with pdf.height, not both';
    if (landscape) yield 'pdf.landscape needs pdf.paper: swap pdf.width and pdf.height instead';
  }
  if (isFullPage) {
    const onPaper = {
      width,
      height,
      preferCssPageSize: pdf.preferCssPageSize || undefined,
      pageRanges: pdf.pageRanges,
      fixed: pdf.fixed,
      'margin "css"': pdf.margin === 'css' || undefined,
    };
    for (const [name, value] of Object.entries(onPaper)) {
      if (value === undefined) continue;
      yield `pdf.${name} needs isFullPage false: the one page is as wide as the viewport and as tall as its content`;
    }
  }
  for (const [range, first, last] of pageRanges.matchAll(/(\d+)-(\d+)/g)) {
    if (Number(first) > Number(last)) yield `pdf.pageRanges must count upwards, not ${JSON.stringify(range)}`;
  }
  for (const name of ['headerTemplate', 'footerTemplate'] as const) {
    const template = pdf[name] ?? '';
    const bytes = Buffer.byteLength(template);
    if (bytes > maxTemplateBytes)
      yield `pdf.${name} must have at most ${maxTemplateBytes} bytes in UTF-8, not ${bytes}`;
    const refused = refusedInTemplate(template);
    if (refused !== undefined)
      yield `pdf.${name} may have text, styles, links, and images as data URLs, not ${refused}`;
  }
  if (pdf.outline === true && pdf.tagged === false) {
    yield 'pdf.outline needs pdf.tagged true: bookmarks are made from the tags of headings';
  }
  yield* brokenDocumentRules(pdf);
}

const sides = ['top', 'right', 'bottom', 'left'] as const;

const defaults = Object.fromEntries(
  Object.entries(pdfSchema.properties)
    .filter(([, schema]) => 'default' in schema)
    .map(([name, schema]) => [name, (schema as { readonly default?: unknown }).default]),
) as unknown as PdfRequest & { readonly margin: number };

/**
 * Returns the page set-up with all defaults, and lengths in millimeters. The request must satisfy {@link brokenPdfRules}. Fields that were
 * added later are absent if they equal their default, so that cache keys do not change.
 *
 * @param isHtml whether the request supplies the HTML of the page
 * @throws ServiceError VALIDATION_ERROR
 */
export function pdfOptions(request: PdfRequest = defaults, isHtml = false): PdfOptions {
  const { fixed = defaultFixed(isHtml) } = request;
  const { margin, paper = 'A4', width, height, headerTemplate = '', footerTemplate = '', pageRanges } = request;
  const { metadata, attachments } = request;
  const given = margin === 'css' ? defaults.margin : margin;
  const lengths = typeof given === 'object' ? given : { top: given, right: given, bottom: given, left: given };
  const side = (name: (typeof sides)[number]) => marginOf(lengths[name] ?? defaults.margin, name);
  const isOwnSize = width !== undefined && height !== undefined;
  return {
    paper: isOwnSize ? { width: inMillimeters(width), height: inMillimeters(height) } : paper,
    landscape: request.landscape,
    margin: { top: side('top'), right: side('right'), bottom: side('bottom'), left: side('left') },
    ...(margin === 'css' ? { hasCssMargin: true } : {}),
    printBackground: request.printBackground,
    scale: request.scale,
    ...(request.preferCssPageSize === true ? { preferCssPageSize: true } : {}),
    ...(pageRanges === undefined ? {} : { pageRanges: pageRanges.replaceAll(' ', '') }),
    ...(headerTemplate === '' ? {} : { headerTemplate }),
    ...(footerTemplate === '' ? {} : { footerTemplate }),
    ...(request.tagged === false ? { tagged: false } : {}),
    ...(request.outline === true ? { outline: true } : {}),
    ...(fixed === defaultFixed(isHtml) ? {} : { fixed }),
    ...(metadata === undefined || Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(attachments === undefined ? {} : { attachments: attachmentsOf(attachments) }),
  };
}

/** Throws a VALIDATION_ERROR if the margins leave no room on the paper. A single page is as wide as the viewport. */
export function assertRoom({ paper, landscape, margin }: PdfOptions, singlePageWidthPx: number | null): void {
  const { width, height } = paperSizeOf({ paper, landscape });
  const room =
    singlePageWidthPx === null
      ? { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
      : { width: (singlePageWidthPx / pxPerInch) * mmPerInch - margin.left - margin.right, height: 1 };
  if (room.width > 0 && room.height > 0) return;
  const page =
    singlePageWidthPx === null
      ? typeof paper === 'string'
        ? `${paper} (${width} × ${height} mm)`
        : `paper of ${width} × ${height} mm`
      : `a page as wide as the viewport (${singlePageWidthPx} px)`;
  throw new ServiceError('VALIDATION_ERROR', `pdf.margin leaves no room on ${page}: make it smaller`);
}

function marginOf(length: Length, side: string): number {
  const millimeters = inMillimeters(length);
  if (millimeters > maxMarginMm) {
    throw new ServiceError('VALIDATION_ERROR', `pdf.margin must be at most ${maxMarginMm} mm, not ${length} (${side})`);
  }
  return millimeters;
}

const millimetersPer = { mm: 1, cm: 10, in: mmPerInch, px: mmPerInch / pxPerInch } as const;

/** Converts a length to millimeters. The schema has validated strings: digits and a unit. */
function inMillimeters(length: Length): number {
  if (typeof length === 'number') return length;
  const unit = length.slice(-2) as keyof typeof millimetersPer;
  return Math.round(Number.parseFloat(length) * millimetersPer[unit] * 10_000) / 10_000;
}
