import { fileURLToPath } from 'node:url';
import { runConfined } from '../runtime/confined-process.ts';
import { type DocumentChanges, unreadableCode } from './document-changes.ts';

/**
 * Data of the process. 512 MiB of it is address space that V8 reserves for machine code and does not use; a document of
 * 20,000 links with tags takes 250 MiB of the rest.
 */
const maxDataKiB = 1024 * 1024;
const maxHeapMiB = 384;

/** Seconds of processor time: that document takes 2, and 7 to be encrypted. */
const maxCpuSeconds = 30;

const maxOutputBytes = 256 * 1024 * 1024;

const packages = fileURLToPath(new URL('../../../node_modules/', import.meta.url));
const own = fileURLToPath(new URL('../', import.meta.url));

const script = {
  path: fileURLToPath(new URL('./document-process.ts', import.meta.url)),
  // It reads its own code, writes no file, and starts no process, thread or add-on.
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

/** The bytes are not a PDF, or changing it takes more time or memory than the process has. */
export class UnreadableDocumentError extends Error {}

/**
 * Returns a PDF with the changes. A confined process makes them, because the printed page may be hostile.
 *
 * @param signal ends the process
 * @throws UnreadableDocumentError; the reason of `signal` when that aborts; Error when the process cannot work
 */
export async function writeDocument(file: Buffer, changes: DocumentChanges, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  const header = Buffer.from(JSON.stringify(changes));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(header.length);
  const { code, output, reason, failure } = await runConfined(script, [length, header, file], signal);
  signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  // Null: the process crashed or reached a limit. Node.js aborts when the heap is full.
  if (code === unreadableCode || code === null) throw new UnreadableDocumentError(reason);
  if (code !== 0 || output.length === 0) throw new Error(`the process that writes PDFs ended with ${code}: ${reason}`);
  return output;
}
