import { PDFCrossRefStream, type PDFRef } from '@cantoo/pdf-lib';

interface Entry {
  readonly ref: PDFRef;
}

interface Entries {
  readonly entries: Entry[];
  appendEntry: (this: Entries, entry: Entry) => void;
}

/**
 * Changes how the library (2.11.1) adds an entry to a cross-reference stream. It compares each new entry with all earlier ones, although it
 * adds them in the order of their numbers; for 36,000 objects this takes 5 s (measured).
 */
export function addEntriesInOrder(): void {
  const stream = PDFCrossRefStream.prototype as unknown as Entries;
  const insert = stream.appendEntry;
  stream.appendEntry = function (entry) {
    const last = this.entries.at(-1);
    if (last === undefined || last.ref.objectNumber <= entry.ref.objectNumber) this.entries.push(entry);
    else insert.call(this, entry);
  };
}
