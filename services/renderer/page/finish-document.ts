import type { PdfEncryption } from '@webcapture/shared/api/document-options.ts';
import type { PdfOptions } from '@webcapture/shared/api/pdf-options.ts';
import { documentTimeoutMs } from '@webcapture/shared/api/option-table.ts';
import { UnreadableDocumentError, writeDocument } from '@webcapture/shared/documents/write-document.ts';
import { DeadlineError } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import type { CaptureDeadline } from './deadline.ts';

/** Processes do not run concurrently, because the browsers of the pod need the memory. */
const turns = new Semaphore(1);

/**
 * Returns the printed document with the metadata, attachments and encryption of the request.
 *
 * @param encryption with passwords in clear text
 * @throws ServiceError PAGE_TOO_LARGE, CAPTURE_TIMEOUT, CAPTURE_FAILED
 */
export async function finishDocument(
  bytes: Buffer,
  { metadata, attachments }: PdfOptions,
  { encryption, deadline }: { readonly encryption: PdfEncryption | undefined; readonly deadline: CaptureDeadline },
): Promise<Buffer> {
  const changes = {
    ...(metadata === undefined ? {} : { metadata }),
    ...(attachments === undefined ? {} : { attachments }),
    ...(encryption === undefined ? {} : { encryption }),
  };
  if (Object.keys(changes).length === 0) return bytes;
  // A failure of this step cannot be caused by the page.
  deadline.causedBy = 'service';
  const ended = new AbortController();
  try {
    const finished = turns.run(() => writeDocument(bytes, changes, ended.signal));
    return await deadline.run(finished, documentTimeoutMs, 'writing the document');
  } catch (error) {
    if (error instanceof UnreadableDocumentError) {
      const message =
        'The PDF of the page is too large, or too unusual, for pdf.metadata, pdf.attachments and pdf.encryption. Send the request without them, or with pdf.tagged false.';
      throw new ServiceError('PAGE_TOO_LARGE', message, { cause: error });
    }
    if (error instanceof DeadlineError) {
      const message = 'Writing the metadata, attachments or encryption of the PDF took too long.';
      throw new ServiceError('CAPTURE_TIMEOUT', message, { causedBy: 'service', cause: error });
    }
    throw error;
  } finally {
    ended.abort();
  }
}
