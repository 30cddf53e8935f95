import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Value } from 'typebox/value';
import {
  type Extracted,
  extractedSchema,
  type ExtractName,
  extractNames,
  maxExtractedBytes,
} from '../api/extracted.ts';
import type { CaptureRecord } from '../captures/capture-record.ts';
import { extractedName } from './file-name.ts';
import type { CallLimits, FileStore } from './file-store.ts';

/** Of the parts as JSON: quotes and line ends take two bytes there, and what else JSON escapes is not extracted. */
const maxJsonBytes = 2 * extractNames.length * maxExtractedBytes + 65_536;

/** What cannot be compressed grows a little. */
export const maxStoredBytes = maxJsonBytes + 65_536;

/** The names under which anything of a capture is stored: its file, and what was extracted beside it. */
export const storedNamesOf = ({ fileName, options }: Pick<CaptureRecord, 'fileName' | 'options'>): readonly string[] =>
  options.extract === undefined ? [fileName] : [fileName, extractedName(fileName)];

/** The names of the parts that there are. */
export const partsOf = (extracted: Extracted): ExtractName[] =>
  extractNames.filter((name) => extracted[name] !== undefined);

/** As it is stored. */
export const packExtracted = (extracted: Extracted): Promise<Buffer> => promisify(gzip)(JSON.stringify(extracted));

/**
 * What was extracted beside the file of that name. A renderer wrote it, so that it is unpacked up to a limit only, and held against the
 * schema and the size of its parts.
 *
 * @throws Error when it is not there, or damaged
 */
export async function readExtracted(
  store: Pick<FileStore, 'stat' | 'read'>,
  fileName: string,
  limits: CallLimits,
): Promise<Extracted> {
  const file = await store.stat(extractedName(fileName), limits);
  if (file === null) throw new Error('nothing is stored');
  if (file.size > maxStoredBytes) throw new RangeError(`${file.size} bytes are stored`);
  const packed: Uint8Array[] = [];
  for await (const bytes of store.read(file, undefined, limits)) packed.push(bytes);
  const json = await promisify(gunzip)(Buffer.concat(packed), { maxOutputLength: maxJsonBytes });
  const extracted: unknown = JSON.parse(json.toString('utf8'));
  if (!Value.Check(extractedSchema, extracted)) throw new TypeError('what is stored is something else');
  const large = partsOf(extracted).find((name) => bytesOf(extracted[name]) > maxExtractedBytes);
  if (large !== undefined) throw new RangeError(`${large} is larger than it may be`);
  return extracted;
}

const bytesOf = (part: unknown) => Buffer.byteLength(typeof part === 'string' ? part : JSON.stringify(part));
