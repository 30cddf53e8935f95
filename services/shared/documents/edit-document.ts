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
import type { DocumentOrder } from './document-order.ts';
import { xmpPacket } from './xmp.ts';

/** Does to a document what was ordered; it is encrypted when it is saved. */
export function editDocument(document: PDFDocument, { metadata, attachments, encryption }: DocumentOrder): void {
  if (metadata !== undefined) setMetadata(document, metadata);
  if (attachments !== undefined) attachFiles(document, attachments);
  if (encryption !== undefined) encrypt(document, encryption);
}

/** Chromium writes 1.4, which knows nothing of associated files. */
function raiseVersion({ context }: PDFDocument): void {
  context.header = PDFHeader.forVersion(1, 7);
}

/** The information dictionary and the XMP packet say the same, also of what was not asked for: Chromium's title and dates. */
function setMetadata(document: PDFDocument, { title, author, subject, keywords, language }: PdfMetadata): void {
  const { context, catalog } = document;
  if (title !== undefined) document.setTitle(title);
  if (author !== undefined) document.setAuthor(author);
  if (subject !== undefined) document.setSubject(subject);
  if (keywords !== undefined) document.setKeywords([keywords.join(', ')]);
  if (language !== undefined) document.setLanguage(language);
  catalog.getOrCreateViewerPreferences().setDisplayDocTitle(true);
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
 * Attaches files to the document (ISO 32000-2, 14.13): listed in the name tree of embedded files, and associated with the
 * document by `/AF`. The library's own `attach` does not escape names.
 */
function attachFiles(document: PDFDocument, attachments: readonly PdfAttachment[]): void {
  const { context, catalog } = document;
  raiseVersion(document);
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
  // A name tree is in the order of its bytes; hex digits of equal case have the same.
  for (const { text, spec } of files.toSorted((a, b) => (a.text.asString() < b.text.asString() ? -1 : 1))) {
    names.push(text);
    names.push(spec);
  }
  const trees = catalog.lookupMaybe(PDFName.of('Names'), PDFDict) ?? context.obj({});
  trees.set(PDFName.of('EmbeddedFiles'), context.obj({ Names: names }));
  catalog.set(PDFName.of('Names'), trees);
  const associated = catalog.lookupMaybe(PDFName.of('AF'), PDFArray) ?? context.obj([]);
  for (const { spec } of files) associated.push(spec);
  catalog.set(PDFName.of('AF'), associated);
}

/** As PDF has dates (ISO 32000-2, 7.9.4). */
const dateText = (date: Date) => `D:${date.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;

/**
 * Moves strings into indirect objects. The library encrypts a string only if it is in an object stream, and keeps streams, the catalog and
 * pages outside of object streams.
 */
function moveStrings({ context }: PDFDocument): void {
  for (const [, object] of context.enumerateIndirectObjects()) {
    const isWrittenPlainly = [PDFCatalog, PDFPageTree, PDFPageLeaf].some((type) => object instanceof type);
    const holder = object instanceof PDFStream ? object.dict : isWrittenPlainly ? (object as PDFDict) : undefined;
    for (const [key, value] of holder?.entries() ?? []) {
      if (hasString(value)) holder?.set(key, context.register(value));
    }
  }
}

/** Objects that are referred to are not looked at. */
function hasString(value: PDFObject): boolean {
  if (value instanceof PDFDict) return value.values().some(hasString);
  if (value instanceof PDFArray) return value.asArray().some(hasString);
  return value instanceof PDFString || value instanceof PDFHexString;
}

/** Encrypts with AES-256. The default owner password is random: as the owner password, the user password would lift the permissions. */
function encrypt(document: PDFDocument, { userPassword, ownerPassword, permissions = {} }: PdfEncryption): void {
  const { print = true, copy = true, modify = true, annotate = true } = permissions;
  raiseVersion(document);
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
