import type { PdfOptions } from './render-options.ts';

/** Widths and heights in millimetres, upright. */
export const paperMm: Readonly<Record<PdfOptions['paper'], readonly [width: number, height: number]>> = {
  A0: [841, 1189],
  A1: [594, 841],
  A2: [420, 594],
  A3: [297, 420],
  A4: [210, 297],
  A5: [148, 210],
  A6: [105, 148],
  Letter: [215.9, 279.4],
  Legal: [215.9, 355.6],
  Tabloid: [279.4, 431.8],
  Ledger: [431.8, 279.4],
};

export const mmPerInch = 25.4;
/** CSS pixels to the inch. */
export const pxPerInch = 96;
/** Points, the unit of a pdf, to the inch. */
export const ptPerInch = 72;
