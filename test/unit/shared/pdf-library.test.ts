import { PDFContext, PDFCrossRefStream, PDFRef } from '@cantoo/pdf-lib';
import { expect, test } from 'vitest';
import '@webcapture/shared/documents/pdf-library.ts';

const streamOf = (numbers: Iterable<number>) => {
  const stream = PDFCrossRefStream.create(PDFContext.create().obj({}));
  for (const number of numbers) stream.addUncompressedEntry(PDFRef.of(number), 0);
  return (stream as unknown as { entries: { ref: PDFRef }[] }).entries.map(({ ref }) => ref.objectNumber);
};

test('the entries of a cross-reference stream are sorted by number', () => {
  expect(streamOf([1, 2, 5, 3, 9, 9, 4])).toEqual([0, 1, 2, 3, 4, 5, 9, 9]);
});

test('100,000 entries in ascending order are added within 10 s', () => {
  const startedAt = performance.now();
  expect(streamOf(Array(100_000).keys())).toHaveLength(100_001);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
