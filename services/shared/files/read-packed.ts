import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type CallLimits, type FileStore, lookAgain } from './file-store.ts';

/**
 * Reads the JSON of an object that a renderer has stored compressed. It is read and decompressed only up to a limit.
 *
 * @throws Error when it is missing, too large or damaged
 */
export async function readPackedJson(
  store: Pick<FileStore, 'stat' | 'read'>,
  name: string,
  { maxStoredBytes, maxJsonBytes }: { readonly maxStoredBytes: number; readonly maxJsonBytes: number },
  limits: CallLimits,
): Promise<unknown> {
  const packed = await lookAgain(async () => {
    const file = await store.stat(name, limits);
    if (file === null) throw new Error('the stored object does not exist');
    if (file.size > maxStoredBytes) {
      throw new RangeError(`the stored object has ${file.size} bytes, which is too large`);
    }
    return buffer(store.read(file, undefined, limits));
  });
  const json = await promisify(gunzip)(packed, { maxOutputLength: maxJsonBytes });
  return JSON.parse(json.toString('utf8'));
}
