import {
  addedOptionNames,
  type CaptureRequest,
  captureRequestSchema,
  maxMarginMm,
  mmPerInch,
  paperMm,
  type PdfOptions,
  pxPerInch,
  type RenderOptions,
} from '@webcapture/shared/api/capture-request.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { visitorOf } from './visitor-rules.ts';

/** All that decides the pixels, out of a request that keeps the rules. Throws a VALIDATION_ERROR for a pdf without room. */
export function renderOptions(request: CaptureRequest): RenderOptions {
  const pdf = pdfOptions(request.pdf);
  if (request.format === 'pdf') assertRoom(pdf, request.isFullPage ? request.viewport.width : null);
  return {
    format: request.format,
    viewport: request.viewport,
    isFullPage: request.isFullPage,
    quality: request.quality,
    colorScheme: request.colorScheme,
    timeout: request.timeout,
    waitUntil: request.waitUntil,
    imageTimeout: request.imageTimeout,
    delay: request.delay,
    antiBot: request.antiBot,
    block: request.block,
    pdf,
    ...addedOptions(request),
    ...visitorOf(request),
  };
}

/** Those that were asked for: one that is absent must not be there as undefined, since it would change the cache key. */
function addedOptions(request: CaptureRequest): Pick<CaptureRequest, (typeof addedOptionNames)[number]> {
  const added = Object.fromEntries(
    addedOptionNames.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]),
  );
  // In whatever order they are asked for.
  return request.extract === undefined ? added : { ...added, extract: request.extract.toSorted() };
}

type PdfRequest = NonNullable<CaptureRequest['pdf']>;
type Length = number | string;

const sides = ['top', 'right', 'bottom', 'left'] as const;

const defaults = Object.fromEntries(
  Object.entries(captureRequestSchema.properties.pdf.properties).map(([name, schema]) => [
    name,
    (schema as { readonly default?: unknown }).default,
  ]),
) as unknown as PdfRequest & { readonly margin: number };

const millimetresPer = { mm: 1, cm: 10, in: mmPerInch, px: mmPerInch / pxPerInch } as const;

/** The page set-up with every default filled in and every margin in millimetres. Throws a VALIDATION_ERROR. */
export function pdfOptions(request: PdfRequest = defaults): PdfOptions {
  const { margin } = request;
  const lengths = typeof margin === 'object' ? margin : { top: margin, right: margin, bottom: margin, left: margin };
  const side = (name: (typeof sides)[number]) => inMillimetres(lengths[name] ?? defaults.margin, name);
  return {
    paper: request.paper,
    landscape: request.landscape,
    margin: { top: side('top'), right: side('right'), bottom: side('bottom'), left: side('left') },
    printBackground: request.printBackground,
    scale: request.scale,
  };
}

/** Throws a VALIDATION_ERROR when the margins leave no room on the paper; a single page is as wide as the viewport. */
export function assertRoom({ paper, landscape, margin }: PdfOptions, singlePageWidthPx: number | null): void {
  const [short, long] = paperMm[paper];
  const [width, height] = landscape ? [long, short] : [short, long];
  const room =
    singlePageWidthPx === null
      ? { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
      : { width: (singlePageWidthPx / pxPerInch) * mmPerInch - margin.left - margin.right, height: 1 };
  if (room.width > 0 && room.height > 0) return;
  const page =
    singlePageWidthPx === null
      ? `${paper} (${width} × ${height} mm)`
      : `a page as wide as the viewport (${singlePageWidthPx} px)`;
  throw new ServiceError('VALIDATION_ERROR', `pdf.margin leaves no room on ${page}: make it smaller`);
}

function inMillimetres(length: Length, side: string): number {
  const millimetres = typeof length === 'number' ? length : parseLength(length);
  if (millimetres > maxMarginMm) {
    throw new ServiceError('VALIDATION_ERROR', `pdf.margin must be at most ${maxMarginMm} mm, not ${length} (${side})`);
  }
  return millimetres;
}

/** A string that the schema let through: digits and one of the units. */
function parseLength(text: string): number {
  const unit = text.slice(-2) as keyof typeof millimetresPer;
  return Math.round(Number.parseFloat(text) * millimetresPer[unit] * 10_000) / 10_000;
}
