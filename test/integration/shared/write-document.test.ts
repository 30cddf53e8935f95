import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { UnreadableDocumentError, writeDocument } from '@webcapture/shared/documents/write-document.ts';

const order = { metadata: { title: 'T' } };
const signal = () => AbortSignal.timeout(60_000);

/** A PDF with an object stream that unpacks to a string of `bytes` bytes. */
function bomb(bytes: number): Buffer {
  const header = '5 0 ';
  const packed = deflateSync(Buffer.concat([Buffer.from(`${header}(`), Buffer.alloc(bytes, 'a'), Buffer.from(')')]));
  const dict = `<< /Type /ObjStm /N 1 /First ${header.length} /Filter /FlateDecode /Length ${packed.length} >>`;
  return Buffer.concat([
    Buffer.from(
      `%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n3 0 obj\n${dict}\nstream\n`,
    ),
    packed,
    Buffer.from('\nendstream\nendobj\ntrailer\n<< /Root 1 0 R /Size 6 >>\nstartxref\n0\n%%EOF\n'),
  ]);
}

test.each<[string, Buffer]>([
  ['no PDF', Buffer.from('hello')],
  ['nothing', Buffer.alloc(0)],
  ['a PDF without a catalog', Buffer.from('%PDF-1.7\n1 0 obj\n<< >>\nendobj\ntrailer\n<< /Size 2 >>\n%%EOF\n')],
  ['2 GB in an object stream of 2 MB', bomb(2 ** 31 - 64)],
])('%s ends the process that reads it, with an error', { timeout: 90_000 }, async (_name, bytes) => {
  await expect(writeDocument(bytes, order, signal())).rejects.toThrow(UnreadableDocumentError);
});

test('a process that is not wanted any more is killed', async () => {
  const abort = new AbortController();
  const written = writeDocument(Buffer.alloc(64 * 1024 * 1024, '%'), order, abort.signal);
  abort.abort(new Error('not wanted'));
  await expect(written).rejects.toThrow('not wanted');
});
