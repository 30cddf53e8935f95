import { randomBytes } from 'node:crypto';
import {
  type PDFDocument,
  type PDFObject,
  PDFArray,
  PDFCatalog,
  PDFDict,
  PDFHeader,
  PDFHexString,
  PDFName,
  PDFPageLeaf,
  PDFPageTree,
  PDFStream,
  PDFString,
} from '@cantoo/pdf-lib';
import type { PdfAttachment, PdfEncryption, PdfMetadata } from '../api/document-options.ts';
import type { DocumentChanges } from './document-changes.ts';
import { xmpPacket } from './xmp.ts';

/** Applies the changes in memory. Encryption takes effect when the document is saved with object streams. */
export function editDocument(document: PDFDocument, { metadata, attachments, encryption }: DocumentChanges): void {
  if (metadata !== undefined) setMetadata(document, metadata);
  if (attachments !== undefined) attachFiles(document, attachments);
  if (encryption !== undefined) encrypt(document, encryption);
}

/** Sets the metadata in the information dictionary, and writes the whole dictionary, with Chromium's dates, into an XMP packet. */
function setMetadata(document: PDFDocument, { title, author, subject, keywords, language }: PdfMetadata): void {
  const { context, catalog } = document;
  if (title !== undefined) document.setTitle(title);
  if (author !== undefined) document.setAuthor(author);
  if (subject !== undefined) document.setSubject(subject);
  // The library joins keywords with spaces, which would split a keyword that consists of two words.
  if (keywords !== undefined) document.setKeywords([keywords.join(', ')]);
  if (language !== undefined) document.setLanguage(language);
  const packet = xmpPacket({
    title: document.getTitle(),
    author: document.getAuthor(),
    subject: document.getSubject(),
    keywords: keywords ?? [],
    language: document.getLanguage(),
    creator: document.getCreator(),
    producer: document.getProducer(),
    createdAt: document.getCreationDate(),
    modifiedAt: document.getModificationDate(),
  });
  const stream = context.stream(Buffer.from(packet), { Type: 'Metadata', Subtype: 'XML' });
  catalog.set(PDFName.of('Metadata'), context.register(stream));
}

/**
 * Lists the files in the name tree of embedded files, and associates them with the document by `/AF` (ISO 32000-2, 14.13). The library's own
 * `attach` does not escape names.
 */
function attachFiles(document: PDFDocument, attachments: readonly PdfAttachment[]): void {
  const { context, catalog } = document;
  // Chromium writes PDF 1.4, which does not support associated files.
  context.header = PDFHeader.forVersion(1, 7);
  const written = PDFHexString.fromText(dateText(new Date()));
  const files = attachments.map(({ name, content, mimeType, description, relationship }) => {
    const bytes = Buffer.from(content, 'base64');
    const params = context.obj({ Size: bytes.length });
    params.set(PDFName.of('ModDate'), written);
    const stream = context.flateStream(bytes, { Type: 'EmbeddedFile', Subtype: mimeType });
    stream.dict.set(PDFName.of('Params'), params);
    const embedded = context.register(stream);
    const text = PDFHexString.fromText(name);
    const spec = context.obj({ Type: 'Filespec', AFRelationship: relationship, EF: { F: embedded, UF: embedded } });
    spec.set(PDFName.of('F'), text);
    spec.set(PDFName.of('UF'), text);
    if (description !== undefined) spec.set(PDFName.of('Desc'), PDFHexString.fromText(description));
    return { text, spec: context.register(spec) };
  });
  const names = context.obj([]);
  // A name tree is sorted by the bytes of its keys, which is the order of their hexadecimal digits.
  for (const { text, spec } of files.toSorted((a, b) => (a.text.asString() < b.text.asString() ? -1 : 1))) {
    names.push(text);
    names.push(spec);
  }
  // Chromium writes no /Names: destinations of links and bookmarks are in /Dests.
  catalog.set(PDFName.of('Names'), context.obj({ EmbeddedFiles: { Names: names } }));
  catalog.set(PDFName.of('AF'), context.obj(files.map(({ spec }) => spec)));
}

/** Formats a date according to ISO 32000-2, 7.9.4. */
const dateText = (date: Date) => `D:${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;

/**
 * Moves strings of streams, the catalog and pages into separate objects. The library encrypts a string only if it is in an object stream,
 * and writes streams, the catalog and pages outside of object streams.
 */
function moveStrings({ context }: PDFDocument): void {
  for (const [, object] of context.enumerateIndirectObjects()) {
    const dict = object instanceof PDFStream ? object.dict : object;
    const isOutside = [PDFStream, PDFCatalog, PDFPageTree, PDFPageLeaf].some((type) => object instanceof type);
    if (!isOutside || !(dict instanceof PDFDict)) continue;
    for (const [key, value] of dict.entries()) {
      if (hasString(value)) dict.set(key, context.register(value));
    }
  }
}

/** Whether a value contains a string, not counting objects that it refers to. */
function hasString(value: PDFObject): boolean {
  if (value instanceof PDFDict) return value.values().some(hasString);
  if (value instanceof PDFArray) return value.asArray().some(hasString);
  return value instanceof PDFString || value instanceof PDFHexString;
}

/**
 * Encrypts with AES-256. A random owner password is set if there is none: by default, the library uses the user password for it, and
 * permissions would have no effect.
 */
function encrypt(document: PDFDocument, { userPassword, ownerPassword, permissions = {} }: PdfEncryption): void {
  const { print = true, copy = true, modify = true, annotate = true } = permissions;
  moveStrings(document);
  document.encrypt({
    algorithm: 'AES-256',
    ...(userPassword === undefined ? {} : { userPassword }),
    ownerPassword: ownerPassword ?? randomBytes(32).toString('hex'),
    permissions: {
      ...(print ? { printing: 'highResolution' } : {}),
      copying: copy,
      modifying: modify,
      documentAssembly: modify,
      annotating: annotate,
      fillingForms: annotate,
      contentAccessibility: true,
    },
  });
}
