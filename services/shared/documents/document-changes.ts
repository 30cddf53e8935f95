import type { PdfAttachment, PdfEncryption, PdfMetadata } from '../api/document-options.ts';

/** Changes to a PDF. An absent part is not changed. */
export interface DocumentChanges {
  readonly metadata?: PdfMetadata;
  readonly attachments?: readonly PdfAttachment[];
  /** With passwords in clear text. */
  readonly encryption?: PdfEncryption;
}

/** Exit code of the process when it cannot read or change the PDF. */
export const unreadableCode = 2;
