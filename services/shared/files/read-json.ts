import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type CallLimits, type FileStore, retryIfReplaced } from './file-store.ts';

interface JsonLimits {
  /** What the object contains, for error messages. */
  readonly what: string;
  readonly maxStoredBytes: number;
  /** Maximum size after decompression. If undefined, the object is not compressed. */
  readonly maxJsonBytes?: number;
}

/**
 * Reads the JSON of an object that a renderer has stored. It is read and decompressed only up to a limit.
 *
 * @throws Error if it is missing, too large or damaged
 */
export async function readStoredJson(
  store: FileStore,
  name: string,
  { what, maxStoredBytes, maxJsonBytes }: JsonLimits,
  limits: CallLimits,
): Promise<unknown> {
  const stored = await retryIfReplaced(async () => {
    const file = await store.stat(name, limits);
    if (file === null) throw new Error(`the object of the ${what} does not exist`);
    if (file.size > maxStoredBytes) {
      throw new RangeError(`the object of the ${what} has ${file.size} bytes, which is too large`);
    }
    return buffer(store.read(file, undefined, limits));
  });
  const json = maxJsonBytes === undefined ? stored : await promisify(gunzip)(stored, { maxOutputLength: maxJsonBytes });
  return JSON.parse(json.toString('utf8'));
}
