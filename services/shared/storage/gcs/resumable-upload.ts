import type { GcsClient } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';
import { resourceIn, type ObjectResource } from './object-file.ts';
import type { ObjectUpload } from './upload.ts';

/** 308: the bucket waits for the rest. */
const incomplete = 308;

/** A session is gone: it expired, or the bucket lost it. */
const sessionGone = [404, 410];

/**
 * The upload of a large file: a session is opened, then the bytes are sent in one request. After a broken connection the
 * bucket is asked what it has, and the rest follows. Nobody sees the object before its last byte is there; a session
 * that is left expires by itself.
 */
export class ResumableUpload {
  readonly #client: GcsClient;
  readonly #upload: ObjectUpload;
  /** The address of the session. */
  #session: string | null = null;

  constructor(client: GcsClient, upload: ObjectUpload) {
    this.#client = client;
    this.#upload = upload;
  }

  /** One attempt, which goes on where the one before broke off. Null when another generation is there. */
  async send(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<ObjectResource | null> {
    const { bytes } = this.#upload;
    let offset = 0;
    if (this.#session === null) {
      const address = await this.#open(query, signal);
      if (address === null) return null;
      this.#session = address;
    } else {
      const had = await this.#put(`bytes */${bytes.length}`, [], signal);
      if (had.kind !== 'incomplete') return had.object;
      ({ offset } = had);
    }
    const range = `bytes ${offset}-${bytes.length - 1}/${bytes.length}`;
    const sent = await this.#put(range, [bytes.subarray(offset)], signal);
    if (sent.kind !== 'incomplete') return sent.object;
    throw this.#broken(`the bucket has ${sent.offset} of ${bytes.length} bytes`);
  }

  /** The address of a new session; null when another generation is there. */
  async #open(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string | null> {
    const { description, bytes, contentType } = this.#upload;
    const { status, headers } = await this.#client.ask(
      'create',
      {
        method: 'POST',
        path: this.#client.uploadPath,
        query: { uploadType: 'resumable', ...query },
        headers: {
          'content-type': 'application/json; charset=UTF-8',
          'x-upload-content-type': contentType,
          'x-upload-content-length': String(bytes.length),
        },
        body: [Buffer.from(JSON.stringify(description))],
        accept: [412],
      },
      signal,
    );
    if (status === 412) return null;
    if (headers.location === undefined) throw this.#broken('the bucket named no address to upload to');
    return headers.location;
  }

  async #put(
    range: string,
    body: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<{ kind: 'done'; object: ObjectResource | null } | { kind: 'incomplete'; offset: number }> {
    const address = this.#session ?? '';
    const headers = { 'content-range': range, 'content-type': this.#upload.contentType };
    const accept = [incomplete, 412, ...sessionGone];
    const request = { method: 'PUT', path: address, headers, body, accept } as const;
    const asking = this.#client.ask('create', request, signal);
    const {
      status,
      json,
      headers: answer,
    } = await asking.catch((error: unknown) => {
      // Bytes that were damaged on their way: the session has failed, and the next attempt sends all of them anew.
      if (error instanceof GcsError && error.status === 400) this.#session = null;
      throw error;
    });
    if (status === incomplete) {
      const last = /(\d+)$/.exec(String(answer['range'] ?? ''))?.[1];
      return { kind: 'incomplete', offset: last === undefined ? 0 : Number(last) + 1 };
    }
    if (sessionGone.includes(status)) {
      this.#session = null;
      throw this.#broken('the bucket has forgotten the upload');
    }
    return { kind: 'done', object: status === 412 ? null : resourceIn('create', json) };
  }

  #broken(detail: string): GcsError {
    return new GcsError('create', { failure: 'connection', detail, transient: true });
  }
}
