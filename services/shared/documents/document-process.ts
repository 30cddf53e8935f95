/*
 * The program of the process that write-document.ts starts. Stdin contains the length of the changes in 4 bytes, the changes as JSON, and
 * the PDF. Stdout receives the changed PDF.
 */
import { buffer } from 'node:stream/consumers';
import { type DocumentChanges, unreadableCode } from './document-changes.ts';
import { editDocument } from './edit-document.ts';
import { loadDocument, saveDocument } from './pdf-library.ts';

const input = await buffer(process.stdin);
const end = 4 + input.readUInt32BE(0);
const changes = JSON.parse(input.toString('utf8', 4, end)) as DocumentChanges;

try {
  const document = await loadDocument(input.subarray(end));
  editDocument(document, changes);
  process.stdout.write(await saveDocument(document, { isEncrypted: changes.encryption !== undefined }));
} catch (error) {
  process.stderr.write(String(error));
  process.exitCode = unreadableCode;
}
