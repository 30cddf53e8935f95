import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RenderOptions } from '../api/capture-request.ts';
import type { Extracted } from '../api/extracted.ts';
import { maxExtractedBytes, type PartName, partNames } from '../api/formats.ts';
import type { CaptureRecord } from '../captures/capture-record.ts';
import { extractedName } from './file-name.ts';

/** Maximum size of the parts as JSON. Quotes and line ends take two bytes. Other characters that JSON escapes are not extracted. */
export const maxJsonBytes = 2 * partNames.length * maxExtractedBytes + 65_536;

/** Maximum size after compression, because data that cannot be compressed grows slightly. */
export const maxStoredBytes = maxJsonBytes + 65_536;

/**
 * Returns the names of all stored objects of a capture: its file, the extracted parts, its diagnostics, kept earlier files, and pictures of
 * differences.
 */
const storedNamesOf = ({
  fileName,
  options,
  diagnostics,
  earlierFiles = [],
  comparisons = [],
}: Pick<CaptureRecord, 'fileName' | 'options' | 'diagnostics' | 'earlierFiles' | 'comparisons'>): readonly string[] => [
  fileName,
  ...(hasExtractedFile(options) ? [extractedName(fileName)] : []),
  ...(diagnostics === undefined ? [] : [diagnostics.name]),
  ...earlierFiles.map(({ name }) => name),
  ...comparisons.flatMap(({ difference }) => difference?.name ?? []),
];

/** Returns the names of {@link storedNamesOf} without diagnostics of a failed capture, which stay until they expire. */
export function removableNamesOf(record: CaptureRecord): readonly string[] {
  const { status, diagnostics } = record;
  const kept = status === 'failed' && diagnostics?.isExpired !== true ? diagnostics?.name : undefined;
  return storedNamesOf(record).filter((name) => name !== kept);
}

/** Whether a capture reads parts of the page. */
export const wantsExtracted = ({ extract, extractFields }: Pick<RenderOptions, 'extract' | 'extractFields'>): boolean =>
  extract !== undefined || extractFields !== undefined;

/** Whether the parts are stored in an object next to the file. With format `none`, they are the file. */
export const hasExtractedFile = (options: RenderOptions): boolean =>
  wantsExtracted(options) && options.format !== 'none';

/** Returns the names of the existing parts. */
export const partsOf = (extracted: Extracted): PartName[] => partNames.filter((name) => extracted[name] !== undefined);

/** Compresses the extracted parts for storage. */
export const packExtracted = (extracted: Extracted): Promise<Buffer> => promisify(gzip)(JSON.stringify(extracted));
