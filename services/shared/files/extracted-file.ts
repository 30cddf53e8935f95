import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Extracted } from '../api/extracted.ts';
import { type ExtractName, extractNames, maxExtractedBytes } from '../api/formats.ts';
import type { CaptureRecord } from '../captures/capture-record.ts';
import { extractedName } from './file-name.ts';

/** Of the parts as JSON: quotes and line ends take two bytes there, and what else JSON escapes is not extracted. */
export const maxJsonBytes = 2 * extractNames.length * maxExtractedBytes + 65_536;

/** What cannot be compressed grows a little. */
export const maxStoredBytes = maxJsonBytes + 65_536;

/** All names under which a capture has stored files: its file, the extracted parts next to it, and its diagnostics. */
export const storedNamesOf = ({
  fileName,
  options,
  diagnostics,
}: Pick<CaptureRecord, 'fileName' | 'options' | 'diagnostics'>): readonly string[] => [
  fileName,
  ...(options.extract === undefined ? [] : [extractedName(fileName)]),
  ...(diagnostics === undefined ? [] : [diagnostics.name]),
];

/** The names of {@link storedNamesOf} that a capture without a file does not need. Diagnostics of a failed capture stay until they expire. */
export function removableNamesOf(record: CaptureRecord): readonly string[] {
  const { status, diagnostics } = record;
  const kept = status === 'failed' && diagnostics?.isExpired !== true ? diagnostics?.name : undefined;
  return storedNamesOf(record).filter((name) => name !== kept);
}

/** The names of the parts that there are. */
export const partsOf = (extracted: Extracted): ExtractName[] =>
  extractNames.filter((name) => extracted[name] !== undefined);

/** Compresses the extracted parts for storage. */
export const packExtracted = (extracted: Extracted): Promise<Buffer> => promisify(gzip)(JSON.stringify(extracted));
