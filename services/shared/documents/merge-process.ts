/*
 * The program of the process that merge-documents.ts starts. Stdin contains the length of the order in 4 bytes, the order as JSON, and the
 * PDFs. Stdout receives the number of pages in 4 bytes, and the merged PDF. The error output begins with the index of the PDF that failed.
 */
import { PDFDocument, PDFString } from '@cantoo/pdf-lib';
import { appendDocument } from './append-document.ts';
import { unreadableCode } from './document-changes.ts';
import { editDocument } from './edit-document.ts';
import { type MergeOrder, tooManyPagesCode } from './merge-order.ts';
import { type Bookmark, setOutline } from './outline.ts';
import { loadDocument, saveDocument, setEntry } from './pdf-library.ts';

const input = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
let rest: Buffer = Buffer.alloc(0);

/** Reads the next bytes of the input. Files are read sequentially, so that the memory of earlier files can be reused. */
async function take(length: number): Promise<Buffer> {
  const parts: Buffer[] = [rest];
  let size = rest.length;
  while (size < length) {
    const { value } = await input.next();
    if (value === undefined) throw new Error('the input ended early');
    parts.push(value);
    size += value.length;
  }
  const bytes = Buffer.concat(parts);
  rest = Buffer.from(bytes.subarray(length));
  return bytes.subarray(0, length);
}

const { documents, pageLabels, maxPages, metadata, encryption } = JSON.parse(
  (await take((await take(4)).readUInt32BE(0))).toString(),
) as MergeOrder;
const isPerDocument = pageLabels === 'perDocument';

const merged = await PDFDocument.create({ updateMetadata: false });
const { context, catalog } = merged;
const bookmarks: Bookmark[] = [];
const labels = context.obj([]);
let pageCount = 0;
let index = 0;
try {
  for (const { title, size } of documents) {
    const source = await loadDocument(await take(size));
    const firstIndex = pageCount;
    pageCount += source.getPageCount();
    if (pageCount > maxPages) break;
    const { start, bookmarks: children } = appendDocument(merged, source);
    bookmarks.push({ title, destination: start, children });
    if (isPerDocument || index === 0) {
      const prefix = isPerDocument ? { P: PDFString.of(`${index + 1}-`) } : {};
      labels.push(context.obj(firstIndex));
      labels.push(context.obj({ S: 'D', ...prefix }));
    }
    index++;
  }
  if (pageCount > maxPages) {
    process.exitCode = tooManyPagesCode;
  } else {
    setOutline(merged, bookmarks);
    setEntry(catalog, 'PageLabels', context.obj({ Nums: labels }));
    setEntry(catalog, 'ViewerPreferences', context.obj({ DisplayDocTitle: true }));
    merged.setProducer('webcapture');
    merged.setCreationDate(new Date());
    editDocument(merged, { ...(metadata && { metadata }), ...(encryption && { encryption }) });
    const count = Buffer.alloc(4);
    count.writeUInt32BE(pageCount);
    const bytes = await saveDocument(merged, { isEncrypted: encryption !== undefined });
    process.stdout.write(count);
    process.stdout.write(bytes);
  }
} catch (error) {
  process.stderr.write(`${index}: ${String(error)}`);
  process.exitCode = unreadableCode;
}
