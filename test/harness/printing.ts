import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import { defaultOptions } from './records.ts';

export const noMargin = { top: 0, right: 0, bottom: 0, left: 0 };

/** Options that differ from the defaults. */
export type PrintChanges = Partial<Omit<RenderOptions, 'pdf'>> & { readonly pdf?: Partial<PdfOptions> };

/** Returns the options of a pdf of a page of 640 × 480 px. */
export const optionsOf = ({ pdf, ...options }: PrintChanges = {}): RenderOptions => ({
  ...defaultOptions,
  format: 'pdf',
  viewport: { width: 640, height: 480, deviceScaleFactor: 1 },
  ...options,
  pdf: { ...defaultOptions.pdf, ...pdf },
});

/** The browser's answer to `Page.printToPDF`. */
export const answerOfPrint = (pdf: Buffer) => ({ data: pdf.toString('base64') });

/** Answers each print with the next of these PDFs. */
export const printing = (...pdfs: readonly Buffer[]) => {
  const left = [...pdfs];
  return () => {
    const pdf = left.shift();
    if (pdf === undefined) throw new Error('the page was printed once more');
    return answerOfPrint(pdf);
  };
};
