import { getDocument, type PDFPageProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';

interface PdfPage {
  /** Points: 72 per inch. */
  readonly width: number;
  readonly height: number;
  readonly text: string;
  /** Position of each piece of text, in points from the top left corner of the page. */
  readonly pieces: readonly { readonly text: string; readonly x: number; readonly y: number; readonly size: number }[];
}

export interface Pdf {
  readonly pages: readonly PdfPage[];
  readonly text: string;
  readonly title: string | undefined;
  /** Titles of the bookmarks, each prefixed with `> ` once per level of depth. */
  readonly outline: readonly string[];
}

/** Reads the pages of a PDF; throws if the bytes are not a PDF. */
export async function readPdf(bytes: Buffer): Promise<Pdf> {
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0 });
  try {
    const document = await task.promise;
    const pages = [];
    for (let number = 1; number <= document.numPages; number++) {
      pages.push(await readPage(await document.getPage(number)));
    }
    const { info } = await document.getMetadata();
    const { Title: title } = info as { Title?: string };
    const outline = titlesOf((await document.getOutline()) as Bookmark[] | null);
    return { pages, text: pages.map((page) => page.text).join('\n'), title, outline };
  } finally {
    await task.destroy();
  }
}

interface Bookmark {
  readonly title: string;
  readonly items: readonly Bookmark[];
}

const titlesOf = (bookmarks: readonly Bookmark[] | null): string[] =>
  (bookmarks ?? []).flatMap(({ title, items }) => [title, ...titlesOf(items).map((each) => `> ${each}`)]);

async function readPage(page: PDFPageProxy): Promise<PdfPage> {
  const { width, height } = page.getViewport({ scale: 1 });
  const { items } = await page.getTextContent();
  const pieces = items.flatMap((item) => {
    if (!('str' in item) || item.str.trim() === '') return [];
    const [, , , size = 0, x = 0, y = 0] = item.transform as number[];
    return [{ text: item.str, x, y: height - y, size }];
  });
  return { width, height, pieces, text: pieces.map((piece) => piece.text).join(' ') };
}
