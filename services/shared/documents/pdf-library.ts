import { PDFDocument, ParseSpeeds, type PDFDict, PDFName, type PDFObject } from '@cantoo/pdf-lib';
import { addEntriesInOrder } from './cross-references.ts';

addEntriesInOrder();

/** @throws if the bytes are not a PDF, or if it is encrypted */
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
    // The library encrypts strings only in object streams: see moveStrings.
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
