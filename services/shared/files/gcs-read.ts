import { createHash } from 'node:crypto';
import { backoffMs, delay, untilAborted, withDeadline } from '../runtime/deadline.ts';
import { readStream } from './bounded-storage.ts';
import { type ByteRange, type CallLimits, FileReplacedError } from './file-store.ts';
import type { GcsClient } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';
import { type GcsFile, orMissing } from './gcs-objects.ts';

/** A reader that receives no byte for this long, despite retries, gets an error. */
const stalledMs = 30_000;

/**
 * Returns the bytes of one generation of an object at the reader's pace. After a broken connection, a new one continues at the same
 * position. Whole files are verified with their MD5 before the last bytes are returned.
 *
 * @throws FileReplacedError when that generation is gone; GcsError
 */
export async function* readObject(
  client: GcsClient,
  file: GcsFile,
  { range, deadline = Infinity }: { readonly range?: ByteRange | undefined } & CallLimits = {},
): AsyncIterable<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  const hash = start === 0 && end === file.size - 1 ? createHash('md5') : null;
  let at = start;
  for (let opened = 0; at <= end; opened++) {
    if (opened > 0) await delay(backoffMs(opened, client.backoffMs / 4, 1000));
    const part = { file, start: at, end };
    // The deadline applies to the first bytes, which show that the file can be read. The rest takes as long as the reader does.
    const limits = { deadline: Math.min(deadline, Date.now() + stalledMs) };
    const reading = await client.retry('get', limits, (signal) => tryOpen(client, part, signal));
    if (reading === null) throw new FileReplacedError();
    const { download, parts, first } = reading;
    try {
      for (
        let next: Uint8Array | null = first;
        next !== null && at <= end;
        next = await nextPart(client, parts, deadline)
      ) {
        const bytes = next.subarray(0, end - at + 1);
        hash?.update(bytes);
        at += bytes.length;
        // The last part is withheld until the whole file is verified: without it the file is visibly incomplete.
        if (at > end && hash !== null && file.md5 !== null && hash.digest('base64') !== file.md5) throw damaged();
        yield bytes;
      }
    } finally {
      download.end();
    }
  }
}

/** Makes one attempt to open an object from a byte on; null if the generation no longer exists. */
async function tryOpen(
  client: GcsClient,
  { file, start, end }: { file: GcsFile; start: number; end: number },
  signal: AbortSignal,
) {
  const { name, generation, size } = file;
  const isWhole = start === 0 && end === size - 1;
  const range = isWhole ? {} : { start, end };
  const opening = client.open('get', signal, (bucket) =>
    readStream(bucket.file(client.prefix + name, { generation }), range),
  );
  const download = await orMissing(client, opening, signal);
  if (download === null) return null;
  try {
    const { status, headers, body } = download;
    if ((headers['x-goog-generation'] ?? generation) !== generation) {
      download.end();
      return null;
    }
    if (!isWhole && status !== 206) throw broken(`a range was answered with status ${status}`);
    const parts = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const first = await withDeadline(untilAborted(parts.next(), signal), client.silenceMs, 'the first bytes');
    if (first.done === true) throw broken('the answer was empty');
    return { download, parts, first: first.value };
  } catch (error) {
    download.end();
    throw error;
  }
}

/** Returns null at the end of the body, and if the connection broke or was silent; the missing bytes are then requested again. */
async function nextPart(
  client: GcsClient,
  parts: AsyncIterator<Uint8Array>,
  deadline: number,
): Promise<Uint8Array | null> {
  try {
    const part = await withDeadline(
      parts.next(),
      Math.max(0, Math.min(client.silenceMs, deadline - Date.now())),
      'the next bytes',
    );
    return part.done === true ? null : part.value;
  } catch (error) {
    client.noteRetry('get', error);
    return null;
  }
}

const damaged = () =>
  new GcsError('get', { failure: 'checksum', detail: 'the bytes that came are not the file’s', transient: true });

const broken = (detail: string) => new GcsError('get', { failure: 'connection', detail, transient: true });
