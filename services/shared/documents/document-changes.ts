import type { PdfAttachment, PdfEncryption, PdfMetadata } from '../api/document-options.ts';

/** What to change in a PDF. A part that is absent stays as it is. */
export interface DocumentChanges {
  readonly metadata?: PdfMetadata;
  readonly attachments?: readonly PdfAttachment[];
  /** With passwords in clear text. */
  readonly encryption?: PdfEncryption;
}

/** Exit code of the process when it cannot read or change the PDF. */
export const unreadableCode = 2;
