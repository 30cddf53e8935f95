import type { ByteRange, CallLimits, FileStore, StoredFile } from '@webcapture/shared/files/file-store.ts';
import { newFile } from '../../../harness/records.ts';

/** The number of bytes per message in the embedded store. */
export const part = 256 * 1024;

/** Another image of the same name. */
export const another = (file: { readonly name: string }, size = part) => newFile(size, { name: file.name });

export async function bytesOf(
  store: FileStore,
  file: StoredFile,
  range?: ByteRange,
  limits?: CallLimits,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.read(file, range, limits)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A stored file, and the file that is to replace it. */
export async function pair(store: FileStore, oldSize = 2 * part, newSize = 3 * part + 5) {
  const old = newFile(oldSize);
  const next = newFile(newSize, { name: old.name, height: 5, cacheSeconds: 300 });
  return { old, stored: await store.create(old), next };
}

/** Returns the description of a file that must exist. */
export async function statOf(store: FileStore, name: string): Promise<StoredFile> {
  const found = await store.stat(name);
  if (found === null) throw new Error(`there is no ${name}`);
  return found;
}
