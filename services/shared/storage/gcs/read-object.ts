import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { withDeadline } from '../../lifecycle/deadline.ts';
import { backoffMs, delay } from '../../lifecycle/delay.ts';
import { FileReplacedError } from '../file-replaced-error.ts';
import type { ByteRange, CallLimits } from '../file-store.ts';
import type { GcsClient } from './gcs-client.ts';
import { GcsError } from './gcs-error.ts';
import type { GcsFile } from './object-file.ts';
import { orMissing } from './or-missing.ts';

/** A reader that gets no byte for so long, whatever is tried, is told so. */
const stalledMs = 30_000;

interface Reading {
  readonly body: IncomingMessage;
  readonly parts: AsyncIterator<Uint8Array>;
  readonly first: Uint8Array;
}

/**
 * The bytes of one generation of an object, as fast as they are taken. A connection that breaks is followed by another
 * one that goes on where it broke. Whole files are held against their MD5 before their last bytes are handed out.
 *
 * @param path of the object
 * @throws FileReplacedError when that generation is gone; GcsError
 */
export async function* readObject(
  client: GcsClient,
  path: string,
  file: GcsFile,
  { range, deadline = Infinity }: { readonly range?: ByteRange | undefined } & CallLimits = {},
): AsyncIterable<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: file.size - 1 };
  const hash = start === 0 && end === file.size - 1 ? createHash('md5') : null;
  let at = start;
  for (let opened = 0; at <= end; opened++) {
    if (opened > 0) await delay(backoffMs(opened, client.backoffMs / 4, 1000));
    const { body, parts, first } = await openAt(client, { path, file, start: at, end, deadline });
    try {
      for (
        let part: Uint8Array | null = first;
        part !== null && at <= end;
        part = await nextPart(client, parts, deadline)
      ) {
        const bytes = part.subarray(0, end - at + 1);
        hash?.update(bytes);
        at += bytes.length;
        // The last part is held back until all of it is known to be right: without it nobody takes this for the file.
        if (at > end && hash !== null && file.md5 !== null && hash.digest('base64') !== file.md5) throw damaged();
        yield bytes;
      }
    } finally {
      body.destroy();
    }
  }
}

/** Opens the object from a byte on and waits for the first bytes: only they tell that it is being read. */
async function openAt(
  client: GcsClient,
  object: {
    readonly path: string;
    readonly file: GcsFile;
    readonly start: number;
    readonly end: number;
    readonly deadline: number;
  },
): Promise<Reading> {
  const limits = { deadline: Math.min(object.deadline, Date.now() + stalledMs) };
  const reading = await client.retry('get', limits, async (signal) => {
    // The time limit is that of the first bytes; the rest takes as long as the reader does.
    const reader = new AbortController();
    const abort = () => reader.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await tryOpen(client, object, reader.signal);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  });
  if (reading === null) throw new FileReplacedError();
  return reading;
}

/** One attempt; null when the generation is gone. */
async function tryOpen(
  client: GcsClient,
  { path, file, start, end }: { path: string; file: GcsFile; start: number; end: number },
  signal: AbortSignal,
): Promise<Reading | null> {
  const isWhole = start === 0 && end === file.size - 1;
  const request = {
    method: 'GET',
    path,
    query: { alt: 'media', generation: file.generation },
    headers: isWhole ? {} : { range: `bytes=${start}-${end}` },
    isStreamed: true,
  } as const;
  const body = await orMissing(client, client.open('get', request, signal), signal);
  if (body === null) return null;
  try {
    const { statusCode: status = 0, headers } = body;
    const generation = headers['x-goog-generation']?.toString() ?? file.generation;
    if (generation !== file.generation) {
      body.destroy();
      return null;
    }
    if (!isWhole && status !== 206) throw broken(`a range was answered with status ${status}`);
    const parts = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const first = await withDeadline(parts.next(), client.silenceMs, 'the first bytes');
    if (first.done === true) throw broken('the answer was empty');
    return { body, parts, first: first.value };
  } catch (error) {
    body.destroy();
    throw error;
  }
}

/** Null at the end of the body, and when the connection broke or fell silent: what is missing then is asked for again. */
async function nextPart(
  client: GcsClient,
  parts: AsyncIterator<Uint8Array>,
  deadline: number,
): Promise<Uint8Array | null> {
  try {
    const part = await withDeadline(parts.next(), Math.min(client.silenceMs, deadline - Date.now()), 'the next bytes');
    return part.done === true ? null : part.value;
  } catch (error) {
    client.noteRetry('get', error);
    return null;
  }
}

const damaged = () =>
  new GcsError('get', { failure: 'checksum', detail: 'the bytes that came are not the file’s', transient: true });

const broken = (detail: string) => new GcsError('get', { failure: 'connection', detail, transient: true });
