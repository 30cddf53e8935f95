import { beforeAll, describe, expect, test } from 'vitest';
import { mergeDocuments, TooManyPagesError } from '@webcapture/shared/documents/merge-documents.ts';
import type { MergeOrder } from '@webcapture/shared/documents/merge-order.ts';
import { UnreadableDocumentError, writeDocument } from '@webcapture/shared/documents/write-document.ts';
import { makePdf } from '../../harness/make-pdf.ts';
import { readFacts } from '../../harness/pdf-facts.ts';
import { isOwnerPassword } from '../../harness/pdf-passwords.ts';

let two: Buffer;
let three: Buffer;
beforeAll(async () => {
  two = await makePdf(['a1', 'a2']);
  three = await makePdf(['b1', 'b2', 'b3']);
});

const signal = () => AbortSignal.timeout(60_000);

function merge(files: readonly Buffer[], changes: Partial<MergeOrder> = {}) {
  const documents = files.map(({ length: size }, index) => ({ title: `Document ${index} ü`, size }));
  async function* parts() {
    yield* files;
  }
  return mergeDocuments({ documents, pageLabels: 'continuous', maxPages: 5, ...changes }, parts(), signal());
}

test('pages, links, bookmarks and labels are in the order of the documents', async () => {
  const { file, pages } = await merge([three, two], { pageLabels: 'perDocument', metadata: { title: 'Both' } });
  expect(pages).toBe(5);
  expect(await readFacts(file)).toMatchObject({
    texts: ['b1', 'b2', 'b3', 'a1', 'a2'],
    labels: ['1-1', '1-2', '1-3', '2-1', '2-2'],
    // Both documents use the same names of destinations.
    targets: [2, 4],
    bookmarks: [
      { title: 'Document 0 ü', page: 0 },
      { title: 'first', page: 0 },
      { title: 'last', page: 2 },
      { title: 'Document 1 ü', page: 3 },
      { title: 'first', page: 3 },
      { title: 'last', page: 4 },
    ],
    info: { Title: 'Both' },
    xmp: { 'dc:title': 'Both' },
    showsTitle: true,
  });
  // No page and no tag occurs twice.
  expect(file.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(5);
  expect(file.toString('latin1')).not.toContain('Struct');
});

test('the merged document opens with its passwords only, and shows no text without them', async () => {
  const encryption = { userPassword: 'reader', ownerPassword: 'owner', permissions: { print: false } };
  const { file } = await merge([two], { encryption });
  await expect(readFacts(file)).rejects.toThrow('password');
  const { texts, labels, bookmarks, permissions } = await readFacts(file, 'reader');
  expect({ texts, labels, bookmarks: bookmarks.length }).toEqual({
    texts: ['a1', 'a2'],
    labels: ['1', '2'],
    bookmarks: 3,
  });
  expect(permissions).not.toContain(4);
  expect(isOwnerPassword(file, 'owner')).toBe(true);
  expect(file.toString('latin1')).not.toMatch(/Document 0|\(first\)/);
});

test('documents with more pages than the order allows throw a TooManyPagesError', async () => {
  await expect(merge([three, three])).rejects.toThrow(TooManyPagesError);
});

test('an error of reading the files is thrown unchanged', async () => {
  const lost = new Error('the file is lost');
  async function* parts() {
    yield two.subarray(0, 100);
    throw lost;
  }
  const order = { documents: [{ title: '', size: two.length }], pageLabels: 'continuous', maxPages: 9 } as const;
  await expect(mergeDocuments(order, parts(), signal())).rejects.toBe(lost);
});

describe('a hostile document throws an UnreadableDocumentError that names it:', () => {
  const pdfOf = (pages: string, ...objects: readonly string[]) =>
    Buffer.from(
      `%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages ${pages} >>\nendobj\n${objects.join('')}trailer\n<< /Root 1 0 R /Size 9 >>\nstartxref\n0\n%%EOF\n`,
    );
  test.each<[string, () => Buffer | Promise<Buffer>]>([
    ['no PDF', () => Buffer.from('hello')],
    ['pages that contain themselves', () => pdfOf('/Kids [2 0 R] /Count 1')],
    ['no pages', () => pdfOf('/Kids [] /Count 0')],
    ['an encrypted PDF', () => writeDocument(two, { encryption: { ownerPassword: 'o' } }, signal())],
  ])('%s', async (_name, hostile) => {
    const merged = merge([two, await hostile()]);
    await expect(merged).rejects.toThrow(UnreadableDocumentError);
    await expect(merged).rejects.toThrow(/^1: /);
  });
});

test('an outline that contains itself is read once', async () => {
  const text = two.toString('latin1');
  const [, child = ''] = /\/First (\d+ 0 R)\n\/Last \1\n\/Count 1\n/.exec(text) ?? [];
  expect(child).not.toBe('');
  // The bookmark after the child of the first bookmark is that child itself.
  const looped = text.replace('/Dest /last\n>>', `/Dest /last\n/Next ${child}\n>>`);
  expect(looped).not.toBe(text);
  const { bookmarks } = await readFacts((await merge([Buffer.from(looped, 'latin1')])).file);
  expect(bookmarks.map(({ title }) => title)).toEqual(['Document 0 ü', 'first', 'last']);
});
