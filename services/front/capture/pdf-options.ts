import { captureRequestSchema, maxMarginMm, type CaptureRequest } from '@webcapture/shared/contract/capture-request.ts';
import type { PdfOptions } from '@webcapture/shared/contract/render-options.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

type PdfRequest = NonNullable<CaptureRequest['pdf']>;
type Length = number | string;

const sides = ['top', 'right', 'bottom', 'left'] as const;

const defaults = Object.fromEntries(
  Object.entries(captureRequestSchema.properties.pdf.properties).map(([name, schema]) => [
    name,
    (schema as { readonly default?: unknown }).default,
  ]),
) as unknown as PdfRequest & { readonly margin: number };

/** CSS: 96 px are an inch. */
const millimetresPer = { mm: 1, cm: 10, in: 25.4, px: 25.4 / 96 } as const;

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
