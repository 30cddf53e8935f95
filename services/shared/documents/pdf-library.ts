import {
  PDFDocument,
  ParseSpeeds,
  type PDFDict,
  PDFName,
  type PDFObject,
  PDFCrossRefStream,
  type PDFRef,
} from '@cantoo/pdf-lib';

addEntriesInOrder();

/**
 * Parses a PDF.
 *
 * @throws if the bytes are not a PDF, or if it is encrypted
 */
export function loadDocument(bytes: Uint8Array): Promise<PDFDocument> {
  return PDFDocument.load(bytes, {
    updateMetadata: false,
    parseSpeed: ParseSpeeds.Fastest,
    throwOnInvalidObject: true,
  });
}

export function saveDocument(
  document: PDFDocument,
  { isEncrypted }: { readonly isEncrypted: boolean },
): Promise<Uint8Array> {
  return document.save({
    // Object streams are needed because the library encrypts only strings that are in them: see moveStrings.
    useObjectStreams: isEncrypted,
    addDefaultPage: false,
    updateFieldAppearances: false,
    objectsPerTick: Infinity,
  });
}

/** Sets an entry of a dictionary. Without a value, removes it. */
export function setEntry(dict: PDFDict, key: string, value: PDFObject | undefined): void {
  if (value === undefined) dict.delete(PDFName.of(key));
  else dict.set(PDFName.of(key), value);
}

/** Returns an entry of a dictionary, or the object that it refers to. */
export const entryOf = (dict: PDFDict, key: string): PDFObject | undefined => dict.lookup(PDFName.of(key));

interface Entry {
  readonly ref: PDFRef;
}

interface Entries {
  readonly entries: Entry[];
  appendEntry: (this: Entries, entry: Entry) => void;
}

/**
 * Changes how the library (2.11.1) adds an entry to a cross-reference stream. The library adds the entries in the order of their numbers,
 * but compares each new entry with all earlier ones. For 36,000 objects this takes 5 s (measured).
 */
function addEntriesInOrder(): void {
  const stream = PDFCrossRefStream.prototype as unknown as Entries;
  const insert = stream.appendEntry;
  stream.appendEntry = function (entry) {
    const last = this.entries.at(-1);
    if (last === undefined || last.ref.objectNumber <= entry.ref.objectNumber) this.entries.push(entry);
    else insert.call(this, entry);
  };
}
