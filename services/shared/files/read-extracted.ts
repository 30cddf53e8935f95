import { type Extracted, extractedSchema } from '../api/extracted.ts';
import { type Format, maxExtractedBytes, partNames } from '../api/formats.ts';
import { maxJsonBytes, maxStoredBytes, partsOf } from './extracted-file.ts';
import { extractedName } from './file-name.ts';
import type { CallLimits, FileStore } from './file-store.ts';
import { readStoredJson } from './read-json.ts';

/**
 * Reads the extracted parts of a capture by the name and the format of its file. A renderer wrote them, so they are decompressed only up to
 * a limit, and validated against the schema and the maximum size of each part.
 *
 * @throws Error if they are missing or damaged
 */
export async function readExtracted(
  store: FileStore,
  { fileName, format }: { readonly fileName: string; readonly format: Format },
  limits: CallLimits,
): Promise<Extracted> {
  const isTheFile = format === 'none';
  const name = isTheFile ? fileName : extractedName(fileName);
  const sizes = isTheFile ? { maxStoredBytes: maxJsonBytes } : { maxStoredBytes, maxJsonBytes };
  const read = await readStoredJson(store, name, { what: 'extracted parts', ...sizes }, limits);
  const stored = (read ?? {}) as Partial<Record<(typeof fields)[number], unknown>>;
  const large = fields.find((name) => bytesOf(stored[name]) > maxExtractedBytes);
  if (large !== undefined) throw new RangeError(`${large} is too large`);
  // After this check, each part is small enough. Unknown parts are dropped.
  const told = Object.fromEntries(fields.map((name) => [name, stored[name]]).filter(([, part]) => part !== undefined));
  // The module is imported at the first use, because it consists of 150 modules.
  const { Value } = await import('typebox/value');
  const extracted = Value.Clean(extractedSchema, told);
  if (!Value.Check(extractedSchema, extracted) || partsOf(extracted).length === 0) {
    throw new TypeError('the object of the extracted parts violates its schema');
  }
  return extracted;
}

const fields = [...partNames, 'truncated'] as const;

const bytesOf = (part: unknown) => Buffer.byteLength(typeof part === 'string' ? part : (JSON.stringify(part) ?? ''));
