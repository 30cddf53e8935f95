import type { PdfAttachment, PdfEncryption, PdfMetadata } from '../api/document-options.ts';

/** Changes of a PDF. Absent parts stay unchanged. */
export interface DocumentChanges {
  readonly metadata?: PdfMetadata;
  readonly attachments?: readonly PdfAttachment[];
  /** Contains passwords in plain text. */
  readonly encryption?: PdfEncryption;
}

/** Exit code of the process if it cannot read or change the PDF. */
export const unreadableCode = 2;
