import { constants, deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { PdfEncryption } from '@webcapture/shared/api/document-options.ts';
import { UnreadableDocumentError, writeDocument } from '@webcapture/shared/documents/write-document.ts';
import { readFacts } from '../../harness/pdf-facts.ts';

const changes = { metadata: { title: 'T' } };
const signal = () => AbortSignal.timeout(60_000);

/** A PDF with one empty page, and objects from number 4 on. */
const pdfOf = (...objects: readonly (string | Buffer)[]) =>
  Buffer.concat([
    Buffer.from(
      '%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 /Note (of pages) >>\nendobj\n' +
        '3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /LastModified (D:20260101) >>\nendobj\n',
    ),
    ...objects.map((object) => Buffer.from(object)),
    Buffer.from('trailer\n<< /Root 1 0 R /Size 9 >>\nstartxref\n0\n%%EOF\n'),
  ]);

/** An object stream of a few megabytes that unpacks to a string of 2 GB. */
function bomb(): Buffer {
  const parts = 2048;
  // A part of a deflate stream that ends at a byte boundary can be repeated.
  const part = deflateRawSync(Buffer.alloc(2 ** 20, 'a'), { finishFlush: constants.Z_FULL_FLUSH });
  const packed = Buffer.concat([
    Buffer.from([0x78, 0x9c]),
    deflateRawSync('5 0 (', { finishFlush: constants.Z_FULL_FLUSH }),
    ...Array<Buffer>(parts).fill(part),
  ]);
  const dict = `<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length ${packed.length} >>`;
  return Buffer.concat([Buffer.from(`4 0 obj\n${dict}\nstream\n`), packed, Buffer.from('\nendstream\nendobj\n')]);
}

describe('writeDocument throws an UnreadableDocumentError for', () => {
  const refuses = async (bytes: Buffer) => {
    await expect(writeDocument(bytes, changes, signal())).rejects.toThrow(UnreadableDocumentError);
  };

  test('what is not a PDF', { timeout: 60_000 }, () => refuses(Buffer.from('hello')));

  test.for<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['a PDF without a catalog', Buffer.from('%PDF-1.7\n1 0 obj\n<< >>\nendobj\ntrailer\n<< /Size 2 >>\n%%EOF\n')],
    ['a PDF with a broken object', pdfOf('4 0 obj\n<< /A \n')],
  ])('%s', { tags: 'long', timeout: 60_000 }, ([, bytes]) => refuses(bytes));

  test('an object stream of 2 MB that unpacks to 2 GB', { tags: 'long', timeout: 60_000 }, async () => {
    await expect(writeDocument(pdfOf(bomb()), changes, signal())).rejects.toThrow(UnreadableDocumentError);
  });

  test('more objects than the heap of its process holds', { tags: 'long', timeout: 120_000 }, async () => {
    const bytes = pdfOf(`4 0 obj\n[${'<<>>'.repeat(4_000_000)}]\nendobj\n`);
    await expect(writeDocument(bytes, changes, AbortSignal.timeout(110_000))).rejects.toThrow(UnreadableDocumentError);
  });
});

test.each<[string, PdfEncryption | undefined]>([
  ['plain', undefined],
  ['encrypted', { ownerPassword: 'owner' }],
])('a file with an incremental update is read in its last version: %s', async (_name, encryption) => {
  const info = (title: string) => `4 0 obj\n<< /Title (${title}) /Producer (Skia) >>\nendobj\n`;
  const trailer = 'trailer\n<< /Root 1 0 R /Info 4 0 R /Size 5 /Prev 9 >>\nstartxref\n9\n%%EOF\n';
  const update = `${info('New')}xref\n4 1\n0000000009 00000 n \n${trailer}`;
  const bytes = Buffer.concat([pdfOf(info('Old')), Buffer.from(update)]);
  const changed = { metadata: { author: 'Ann' }, ...(encryption === undefined ? {} : { encryption }) };
  const facts = await readFacts(await writeDocument(bytes, changed, signal()));
  expect(facts).toMatchObject({ info: { Title: 'New', Author: 'Ann', Producer: 'Skia' }, xmp: { 'dc:title': 'New' } });
});

test('strings of pages are also encrypted', async () => {
  const bytes = pdfOf();
  const encrypted = await writeDocument(bytes, { encryption: { ownerPassword: 'owner' } }, signal());
  for (const clear of ['D:20260101', 'of pages']) {
    expect(bytes.toString()).toContain(clear);
    expect(encrypted.toString('latin1')).not.toContain(clear);
  }
});

test('an aborted signal kills the process', async () => {
  const abort = new AbortController();
  const written = writeDocument(Buffer.alloc(64 * 1024 * 1024, '%'), changes, abort.signal);
  abort.abort(new Error('not wanted'));
  await expect(written).rejects.toThrow('not wanted');
});
