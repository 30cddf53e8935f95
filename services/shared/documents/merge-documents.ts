import { fileURLToPath } from 'node:url';
import { keepFailure, runConfined } from '../runtime/confined-process.ts';
import { type MergeOrder, tooManyPagesCode } from './merge-order.ts';
import { documentScript, headerOf, outputOf } from './write-document.ts';

/**
 * Maximum size of the merged document. The files have at most 64 MiB together; outline and labels add little, and encryption adds nothing.
 */
const maxOutputBytes = 96 * 1024 * 1024;

/** Limit of processor time. Files of 64 MiB with 64,000 links take 5 s, and 10 s with encryption (measured). */
const maxCpuSeconds = 45;

const mergeScript = {
  ...documentScript,
  path: fileURLToPath(new URL('./merge-process.ts', import.meta.url)),
  maxCpuSeconds,
  maxOutputBytes,
} as const;

/** Thrown if the documents have more pages together than the order allows. */
export class TooManyPagesError extends Error {}

export interface MergedDocument {
  readonly file: Buffer;
  readonly pages: number;
}

/**
 * Merges PDFs in a confined process, because the printed pages may be hostile.
 *
 * @param files the concatenated bytes of all files
 * @param signal ends the process
 * @throws UnreadableDocumentError; TooManyPagesError; the error of `files`; the reason of `signal` if it aborts; Error if the process
 *   cannot work
 */
export async function mergeDocuments(
  order: MergeOrder,
  files: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<MergedDocument> {
  signal.throwIfAborted();
  const { bytes, failure } = keepFailure(files);
  async function* input() {
    yield* headerOf(order);
    yield* bytes;
  }
  const end = await runConfined(mergeScript, input(), signal);
  signal.throwIfAborted();
  if (failure() !== undefined) throw failure();
  if (end.code === tooManyPagesCode) throw new TooManyPagesError();
  const output = outputOf(end, signal);
  return { file: output.subarray(4), pages: output.readUInt32BE(0) };
}
