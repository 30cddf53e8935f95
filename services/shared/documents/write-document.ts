import { fileURLToPath } from 'node:url';
import { type ProcessEnd, runConfined } from '../runtime/confined-process.ts';
import { type DocumentChanges, unreadableCode } from './document-changes.ts';

/**
 * Limit of the data of the process. It includes 512 MiB of address space that V8 reserves for machine code. A document of 12,000 links with
 * tags takes 400 MiB of memory (measured).
 */
const maxDataKiB = 1024 * 1024;
const maxHeapMiB = 384;

/** Limit of processor time. The same document takes 4 s, and 7 s with encryption. */
const maxCpuSeconds = 30;

const maxOutputBytes = 256 * 1024 * 1024;

const packages = fileURLToPath(new URL('../../../node_modules/', import.meta.url));
const own = fileURLToPath(new URL('../', import.meta.url));

/** The process and its limits. */
export const documentScript = {
  path: fileURLToPath(new URL('./document-process.ts', import.meta.url)),
  // The process may read its own code. It may not write files, or start processes, threads or add-ons.
  nodeOptions: [
    '--permission',
    `--allow-fs-read=${own}`,
    `--allow-fs-read=${packages}`,
    '--no-warnings',
    `--max-old-space-size=${maxHeapMiB}`,
  ],
  maxDataKiB,
  maxCpuSeconds,
  maxOutputBytes,
} as const;

/** Thrown if the bytes are not a PDF, or if changing it exceeds the limits of time or memory. */
export class UnreadableDocumentError extends Error {}

/**
 * Returns a PDF with the changes. They are made in a confined process, because the printed page may be hostile.
 *
 * @param signal ends the process
 * @throws UnreadableDocumentError; the reason of `signal` if it aborts; Error if the process cannot work
 */
export async function writeDocument(file: Buffer, changes: DocumentChanges, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  return outputOf(await runConfined(documentScript, [...headerOf(changes), file], signal), signal);
}

/** Returns the first parts of the input: the length of the order in 4 bytes, and the order as JSON. */
export function headerOf(order: object): [Buffer, Buffer] {
  const json = Buffer.from(JSON.stringify(order));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return [length, json];
}

/** Returns what the process wrote. Throws as {@link writeDocument}. */
export function outputOf({ code, output, reason, failure }: ProcessEnd, signal: AbortSignal): Buffer {
  signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  // A null code means that the process crashed or reached a limit. Node.js aborts when the heap is full.
  if (code === unreadableCode || code === null) throw new UnreadableDocumentError(reason);
  if (code !== 0 || output.length === 0) throw new Error(`the process that writes PDFs ended with ${code}: ${reason}`);
  return output;
}
