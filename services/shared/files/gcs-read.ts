import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { backoffMs, delay, onAbort, withDeadline } from '../runtime/deadline.ts';
import { readStream } from './bounded-storage.ts';
import { type ByteRange, type CallLimits, FileReplacedError } from './file-store.ts';
import type { GcsAttempt, GcsClient } from './gcs-client.ts';
import { brokenAnswer, GcsError, toGcsError } from './gcs-error.ts';
import type { GcsFile } from './object-description.ts';

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
    const reading = await client.call<Opened | null>('get', limits, (attempt) => open(client, part, attempt), {
      isStreamed: true,
      resultOf: client.nullIfMissing,
    });
    if (reading === null) throw new FileReplacedError();
    try {
      for (let next: Uint8Array | null = reading.first; next !== null && at <= end;) {
        const bytes = next.subarray(0, end - at + 1);
        hash?.update(bytes);
        at += bytes.length;
        // The last part is withheld until the whole file is verified: without it the file is visibly incomplete.
        if (at > end && hash !== null && file.md5 !== null && hash.digest('base64') !== file.md5) throw damaged();
        yield bytes;
        next = await nextPart(client, reading.parts, deadline);
      }
    } finally {
      reading.end();
    }
  }
}

interface Opened {
  readonly parts: AsyncIterator<Uint8Array>;
  readonly first: Uint8Array;
  readonly end: () => void;
}

/** Opens an object from a byte on, until its first bytes arrive; null if the generation no longer exists. */
async function open(
  client: GcsClient,
  { file, start, end: last }: { file: GcsFile; start: number; end: number },
  { bucket, signal, end }: GcsAttempt,
): Promise<Opened | null> {
  const { name, generation, size } = file;
  const isWhole = start === 0 && last === size - 1;
  const range = isWhole ? {} : { start, end: last };
  const body = readStream(bucket.file(client.prefix + name, { generation }), range);
  // Errors are handled by the reader of the body. After its end, they need another listener.
  body.on('error', () => undefined);
  onAbort(signal, () => body.destroy());
  const firstPart = async () => {
    const { status, headers } = await headOf(body);
    if ((headers['x-goog-generation'] ?? generation) !== generation) return null;
    if (!isWhole && status !== 206) throw brokenAnswer('get', `a range was answered with status ${status}`);
    const parts = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const first = await parts.next();
    if (first.done === true) throw brokenAnswer('get', 'the answer was empty');
    return { parts, first: first.value, end };
  };
  const opened = await withDeadline(firstPart(), client.silenceMs, 'the first bytes');
  if (opened === null) end();
  return opened;
}

/** Returns the head of the answer of a library stream. For a status other than 2xx the stream emits an error. */
async function headOf(body: Readable) {
  const answered = once(body, 'response');
  // Reading from the stream makes it send the request.
  body.read(0);
  const [answer] = (await answered) as [{ statusCode: number; headers: Record<string, string> }];
  if (answer.statusCode >= 300) await once(body, 'end');
  return { status: answer.statusCode, headers: answer.headers };
}

/** Returns null at the end of the body, and if the connection broke or was silent; the missing bytes are then requested again. */
async function nextPart(
  client: GcsClient,
  parts: AsyncIterator<Uint8Array>,
  deadline: number,
): Promise<Uint8Array | null> {
  try {
    const leftMs = Math.max(0, Math.min(client.silenceMs, deadline - Date.now()));
    const part = await withDeadline(parts.next(), leftMs, 'the next bytes');
    return part.done === true ? null : part.value;
  } catch (error) {
    client.noteRetry(toGcsError('get', error));
    return null;
  }
}

const damaged = () =>
  new GcsError('get', { failure: 'checksum', detail: 'the bytes that came are not the file’s', transient: true });
