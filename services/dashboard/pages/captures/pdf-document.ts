import {
  getDocument,
  GlobalWorkerOptions,
  PasswordException,
  type PDFPageProxy,
} from 'pdfjs-dist/legacy/build/pdf.mjs';

GlobalWorkerOptions.workerSrc = new URL('pdfjs-dist/legacy/build/pdf.worker.min.mjs', import.meta.url).href;

export interface OpenPdf {
  /** Number of pages. */
  readonly pages: number;
  /** Draws a page. The first one has the number 1. */
  readonly page: (number: number) => Promise<PdfPage>;
  readonly close: () => void;
}

export interface PdfPage {
  /** The page as a PNG image. */
  readonly blob: Blob;
  /** Size of the image in pixels. */
  readonly width: number;
  readonly height: number;
  /** Text of the page; empty if it has none. */
  readonly text: string;
}

/**
 * Opens a PDF with pdf.js.
 *
 * @returns null if the PDF needs a password
 * @throws Error if the PDF is damaged
 */
export async function openPdf(data: ArrayBuffer): Promise<OpenPdf | null> {
  // The policy of the page forbids WebAssembly.
  const task = getDocument({ data, useWasm: false });
  const close = () => void task.destroy();
  try {
    const opened = await task.promise;
    return { pages: opened.numPages, page: async (number) => drawPage(await opened.getPage(number)), close };
  } catch (error) {
    close();
    if (error instanceof PasswordException) return null;
    throw error;
  }
}

/** Resolution of the image of a page: 144 dpi, which is sharp at twice the size of the paper. */
const pixelsPerPoint = 2;

/** Maximum size of an image of a page. Browsers do not draw larger ones: Safari has the lowest limit. */
const maxPixels = 16_000_000;
const maxSide = 16_384;

async function drawPage(page: PDFPageProxy): Promise<PdfPage> {
  const { width, height } = page.getViewport({ scale: 1 });
  const scale = Math.min(pixelsPerPoint, maxSide / Math.max(width, height), Math.sqrt(maxPixels / (width * height)));
  const viewport = page.getViewport({ scale });
  const canvas = document.createElement('canvas');
  canvas.width = Math.floor(viewport.width);
  canvas.height = Math.floor(viewport.height);
  await page.render({ canvas, viewport }).promise;
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  if (blob === null) throw new Error('the browser could not encode the image of the page');
  const { items } = await page.getTextContent();
  const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
  page.cleanup();
  return { blob, width: canvas.width, height: canvas.height, text };
}
