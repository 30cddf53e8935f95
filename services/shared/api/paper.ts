export const mmPerInch = 25.4;
/** CSS pixels per inch. */
export const pxPerInch = 96;
/** Points per inch. The point is the unit of PDF. */
export const ptPerInch = 72;

export const paperNames = ['A0', 'A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'Letter', 'Legal', 'Tabloid', 'Ledger'] as const;

export type PaperName = (typeof paperNames)[number];

/** Widths and heights in millimeters, in portrait orientation. */
export const paperMm: Readonly<Record<PaperName, readonly [width: number, height: number]>> = {
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

/** Limits of the sides of paper in millimeters: from the narrowest labels to 200 inches, the limit of viewers for PDF 1.x. */
export const minPaperMm = 10;
export const maxPaperMm = 5080;

/** Sides in millimeters. */
export interface PaperSize {
  readonly width: number;
  readonly height: number;
}

/** Returns the size of the paper after rotation, in millimeters. */
export function paperSizeOf({
  paper,
  landscape,
}: {
  readonly paper: PaperName | PaperSize;
  readonly landscape: boolean;
}): PaperSize {
  if (typeof paper !== 'string') return paper;
  const [width, height] = paperMm[paper];
  return landscape ? { width: height, height: width } : { width, height };
}

/** How elements that are fixed to the viewport are printed: on every page, or once. */
export const fixedModes = ['repeat', 'once'] as const;
export type FixedMode = (typeof fixedModes)[number];

/**
 * Returns how fixed elements are printed by default. In supplied HTML, they are usually headers and footers for every page. On a website,
 * they are usually bars.
 */
export const defaultFixed = (isHtml: boolean): FixedMode => (isHtml ? 'repeat' : 'once');
