import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Extracted, extractedSchema } from '../api/extracted.ts';
import { extractNames, maxExtractedBytes } from '../api/formats.ts';
import { maxJsonBytes, maxStoredBytes, partsOf } from './extracted-file.ts';
import { extractedName } from './file-name.ts';
import { type CallLimits, type FileStore, lookAgain } from './file-store.ts';

/**
 * Reads the extracted parts of the file with that name. A renderer wrote them, so they are decompressed only up to a limit, and validated
 * against the schema and the size of their parts.
 *
 * @throws Error when they are missing or damaged
 */
export async function readExtracted(
  store: Pick<FileStore, 'stat' | 'read'>,
  fileName: string,
  limits: CallLimits,
): Promise<Extracted> {
  const packed = await readPacked(store, extractedName(fileName), limits);
  const json = await promisify(gunzip)(packed, { maxOutputLength: maxJsonBytes });
  const stored = (JSON.parse(json.toString('utf8')) ?? {}) as Partial<Record<(typeof fields)[number], unknown>>;
  const large = fields.find((name) => bytesOf(stored[name]) > maxExtractedBytes);
  if (large !== undefined) throw new RangeError(`${large} is too large`);
  // Each part is small enough now to be looked at. What else there is, is left out.
  const told = Object.fromEntries(fields.map((name) => [name, stored[name]]).filter(([, part]) => part !== undefined));
  // Loaded by the first who reads one: it takes 150 modules.
  const { Value } = await import('typebox/value');
  const extracted = Value.Clean(extractedSchema, told);
  if (!Value.Check(extractedSchema, extracted) || partsOf(extracted).length === 0) {
    throw new TypeError('the object of the extracted parts has another form');
  }
  return extracted;
}

function readPacked(store: Pick<FileStore, 'stat' | 'read'>, name: string, limits: CallLimits): Promise<Buffer> {
  return lookAgain(async () => {
    const file = await store.stat(name, limits);
    if (file === null) throw new Error('the object of the extracted parts does not exist');
    if (file.size > maxStoredBytes) {
      throw new RangeError(`the object of the extracted parts has ${file.size} bytes, which is too large`);
    }
    return buffer(store.read(file, undefined, limits));
  });
}

const fields = [...extractNames, 'truncated'] as const;

const bytesOf = (part: unknown) => Buffer.byteLength(typeof part === 'string' ? part : (JSON.stringify(part) ?? ''));
