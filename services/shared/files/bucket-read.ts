import { createHash } from 'node:crypto';
import { backoffMs, delay, withDeadline } from '../runtime/deadline.ts';
import { type ByteRange, type CallLimits, FileReplacedError } from './file-store.ts';
import type { ObjectBucket } from './object-bucket.ts';
import { brokenAnswer, ObjectError } from './object-error.ts';
import type { BucketFile } from './object-description.ts';

/** Time without a received byte, despite retries, after which a reader gets an error. */
const stalledMs = 30_000;

/**
 * Returns the bytes of one generation of an object at the reader's pace. If a connection breaks, a new one continues at the same position.
 * Whole files are verified with their MD5 before the last bytes are returned.
 *
 * @throws FileReplacedError if that generation no longer exists; ObjectError
 */
export async function* readObject(
  bucket: ObjectBucket,
  file: BucketFile,
  { range, deadline = Infinity }: { readonly range?: ByteRange | undefined } & CallLimits = {},
): AsyncIterable<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  const hash = start === 0 && end === file.size - 1 ? createHash('md5') : null;
  let at = start;
  for (let opened = 0; at <= end; opened++) {
    if (opened > 0) await delay(backoffMs(opened, bucket.backoffMs / 4, 1000));
    // The deadline applies only to the first bytes, which show that the file can be read. The reader determines how long the rest takes.
    const limits = { deadline: Math.min(deadline, Date.now() + stalledMs) };
    const reading = await bucket.open(file, { start: at, end }, limits);
    if (reading === null) throw new FileReplacedError();
    try {
      for (let next: Uint8Array | null = reading.first; next !== null && at <= end;) {
        const bytes = next.subarray(0, end - at + 1);
        hash?.update(bytes);
        at += bytes.length;
        // The last part is withheld until the whole file is verified. Without it, the reader can see that the file is incomplete.
        if (at > end && hash !== null && file.md5 !== null && hash.digest('base64') !== file.md5) throw damaged();
        yield bytes;
        next = await nextPart(bucket, reading.parts, deadline);
      }
    } finally {
      reading.end();
    }
  }
}

/**
 * Returns the next part. Returns null at the end of the body, and also if the connection broke or was silent; the missing bytes are then
 * requested again.
 */
async function nextPart(
  bucket: ObjectBucket,
  parts: AsyncIterator<Uint8Array>,
  deadline: number,
): Promise<Uint8Array | null> {
  try {
    const leftMs = Math.max(0, Math.min(bucket.silenceMs, deadline - Date.now()));
    const part = await withDeadline(parts.next(), leftMs, 'the next bytes');
    return part.done === true ? null : part.value;
  } catch (error) {
    bucket.noteRetry(brokenAnswer('get', error instanceof Error ? error.message : String(error)));
    return null;
  }
}

const damaged = () =>
  new ObjectError('get', { failure: 'checksum', detail: 'the bytes that came are not the file’s', transient: true });
