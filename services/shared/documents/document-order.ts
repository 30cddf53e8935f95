import type { PdfAttachment, PdfEncryption, PdfMetadata } from '../api/document-options.ts';

/** What is to be made of a PDF. */
export interface DocumentOrder {
  readonly metadata?: PdfMetadata;
  readonly attachments?: readonly PdfAttachment[];
  /** In the clear. */
  readonly encryption?: PdfEncryption;
}

/** What comes before the bytes of the files on the way to the process. */
export interface DocumentHeader {
  readonly order: DocumentOrder;
  /** Bytes of each file, in their order. */
  readonly sizes: readonly number[];
}

/** Exit code of a process that could not make sense of a PDF. */
export const unreadableCode = 2;
