/*
 * The program of the process that write-document.ts starts. Its stdin has the length of a header in 4 bytes, the header as JSON, and the files
 * that the header names. It writes the document to stdout.
 */
import { setPriority } from 'node:os';
import { buffer } from 'node:stream/consumers';
import { PDFDocument, ParseSpeeds } from '@cantoo/pdf-lib';
import { type DocumentHeader, unreadableCode } from './document-order.ts';
import { editDocument } from './edit-document.ts';

// Requests come first.
setPriority(10);

const input = await buffer(process.stdin);
const headerEnd = 4 + input.readUInt32BE(0);
const { order, sizes } = JSON.parse(input.toString('utf8', 4, headerEnd)) as DocumentHeader;
const [size = 0] = sizes;

try {
  const bytes = input.subarray(headerEnd, headerEnd + size);
  const parsing = { updateMetadata: false, parseSpeed: ParseSpeeds.Fastest, throwOnInvalidObject: true };
  const document = await PDFDocument.load(bytes, parsing);
  editDocument(document, order);
  // Of strings the library encrypts only those in object streams: see edit-document.ts.
  const useObjectStreams = order.encryption !== undefined;
  const writing = { useObjectStreams, addDefaultPage: false, updateFieldAppearances: false, objectsPerTick: Infinity };
  process.stdout.write(await document.save(writing));
} catch (error) {
  process.stderr.write(String(error));
  process.exitCode = unreadableCode;
}
