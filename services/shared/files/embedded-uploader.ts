import { randomUUID } from 'node:crypto';
import { localDeadline } from '../runtime/deadline.ts';
import { toServiceError } from '../runtime/errors.ts';
import { isStreamFull, isTransient } from '../nats/api-errors.ts';
import type { NatsSession } from '../nats/connect.ts';
import { partGraceSeconds, partSubject, uploadObject, type PartsLocation } from './embedded-head.ts';
import { FileMessages, partSize } from './file-messages.ts';
import { type FileUploader, type NewFile, StoreUnavailableError, type Upload } from './file-store.ts';
import { contentTag, uploadOf } from './upload.ts';

const writeTimeoutMs = 30_000;

/**
 * Uploads into the embedded store. The parts of a file become messages under a generation of their own. The uploader needs only the right
 * to publish below `files.part.<region>`. Parts of an upload that is never accepted expire.
 */
export class EmbeddedUploader implements FileUploader {
  readonly #messages: FileMessages;
  readonly #now: () => number;

  /** @param now Unix milliseconds, by the clock of the server, which expires the parts of files */
  constructor(session: NatsSession, now: () => number = session.now) {
    this.#messages = new FileMessages(session);
    this.#now = now;
  }

  upload(file: NewFile): { readonly sent: Promise<Upload>; readonly stored: Promise<Upload> } {
    const { object, region, bytes } = file;
    const location: PartsLocation = { region, object, generation: randomUUID() };
    const parts = Math.ceil(bytes.length / partSize);
    const upload = uploadOf(file, uploadObject(location, parts), contentTag(bytes));
    // The client passes each message to the connection before its call returns.
    const writing = this.#write(location, file);
    const stored = writing.then(
      () => upload,
      (cause: unknown) => {
        // A full stream has room again when files expire.
        const mayPass = isTransient(cause) || isStreamFull(cause);
        throw mayPass ? new StoreUnavailableError(undefined, { cause }) : toServiceError(cause, 'STORAGE_FAILED');
      },
    );
    // A failure of `stored` must not end a caller that only waits for `sent`.
    stored.catch(() => undefined);
    return { sent: Promise.resolve(upload), stored };
  }

  async #write(location: PartsLocation, { bytes, expiresAt, deadline: until }: NewFile): Promise<void> {
    const now = this.#now();
    const deadline = localDeadline(until ?? now + writeTimeoutMs, now);
    // The time to live is relative, so the clock of this process may differ from the server's.
    const ttlSeconds = Math.max(1, Math.ceil((expiresAt - now) / 1000)) + partGraceSeconds;
    // A remote renderer needs time for the transfer (2 MB/s), and must be able to retry before the deadline.
    const timeout = Math.max(1, Math.min(5000 + bytes.length / 2048, (deadline - Date.now()) / 3));
    await this.#messages.createParts((part) => partSubject(location, part), bytes, { ttlSeconds, deadline, timeout });
  }
}
