import { randomBytes } from 'node:crypto';
import type { GcsClient, GcsLimits } from './gcs-client.ts';
import { GcsError, isOverwriteRefused } from './gcs-error.ts';
import { objectFields, resourceIn, type ObjectResource } from './object-file.ts';
import { ResumableUpload } from './resumable-upload.ts';

export interface ObjectUpload {
  /** The object's, prefix and all. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly contentType: string;
  /** The resource that the object is made with, the MD5 of its bytes included. */
  readonly description: object;
  /** The generation that the object must have now; `0`: there must be none. */
  readonly expected: string;
}

/** A 400 for bytes that were damaged on their way looks like one for a request that is wrong, which stays wrong. */
const mostRefusals = 2;

/**
 * Uploads an object in place of the expected generation, in as many attempts as the limits allow. Null when there is
 * another generation, which may be one of an attempt of this very call whose answer was lost. Throws a GcsError; then
 * the object is as it was, or whole.
 */
export async function upload(client: GcsClient, what: ObjectUpload, limits: GcsLimits): Promise<ObjectResource | null> {
  // A large one goes on where a broken connection left it.
  const session = what.bytes.length > client.mostBytesAtOnce ? new ResumableUpload(client, what) : null;
  const query = { name: what.name, ifGenerationMatch: what.expected, fields: objectFields };
  let refusals = 0;
  return client.retry('create', limits, async (signal) => {
    try {
      return await (session === null ? sendAtOnce(client, what, query, signal) : session.send(query, signal));
    } catch (error) {
      if (error instanceof GcsError && isOverwriteRefused(error)) return null;
      if (error instanceof GcsError && error.status === 400 && ++refusals <= mostRefusals) throw asPassing(error);
      throw error;
    }
  });
}

async function sendAtOnce(
  client: GcsClient,
  { bytes, contentType, description }: ObjectUpload,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ObjectResource | null> {
  const boundary = randomBytes(16).toString('hex');
  const head =
    `--${boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(description)}\r\n` +
    `--${boundary}\r\nContent-Type: ${contentType}\r\n\r\n`;
  const { status, json } = await client.ask(
    'create',
    {
      method: 'POST',
      path: client.uploadPath,
      query: { uploadType: 'multipart', ...query },
      headers: { 'content-type': `multipart/related; boundary=${boundary}` },
      body: [Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)],
      accept: [412],
    },
    signal,
  );
  return status === 412 ? null : resourceIn('create', json);
}

function asPassing({ operation, failure, status = 400, reason, detail }: GcsError): GcsError {
  return new GcsError(operation, { failure, status, reason, detail, transient: true });
}
