/*
 * The program of the process that write-document.ts starts. Stdin contains the length of the changes in 4 bytes, the changes as JSON, and
 * the PDF. Stdout receives the changed PDF.
 */
import { buffer } from 'node:stream/consumers';
import { PDFDocument, ParseSpeeds } from '@cantoo/pdf-lib';
import { addEntriesInOrder } from './cross-references.ts';
import { type DocumentChanges, unreadableCode } from './document-changes.ts';
import { editDocument } from './edit-document.ts';

addEntriesInOrder();

const input = await buffer(process.stdin);
const end = 4 + input.readUInt32BE(0);
const changes = JSON.parse(input.toString('utf8', 4, end)) as DocumentChanges;

try {
  const document = await PDFDocument.load(input.subarray(end), {
    updateMetadata: false,
    parseSpeed: ParseSpeeds.Fastest,
    throwOnInvalidObject: true,
  });
  editDocument(document, changes);
  const bytes = await document.save({
    // The library encrypts strings only in object streams: see moveStrings.
    useObjectStreams: changes.encryption !== undefined,
    addDefaultPage: false,
    updateFieldAppearances: false,
    objectsPerTick: Infinity,
  });
  process.stdout.write(bytes);
} catch (error) {
  process.stderr.write(String(error));
  process.exitCode = unreadableCode;
}
