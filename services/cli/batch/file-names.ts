import type { Format } from '@webcapture/shared/api/formats.ts';
import { CliError } from '../errors.ts';
import type { Entry } from './entries.ts';

/** Maximum size of a name in bytes. File systems allow 255; temporary files and extensions need a part of these. */
const maxNameBytes = 120;
/** Maximum size of the end of a name in bytes, such as `-100000.webp`. */
const maxEndingBytes = 12;

/** Files of a batch that are not of a capture. */
export const stateFile = '.webcapture-batch.jsonl';
export const lockFile = '.webcapture-batch.lock';
export const indexFile = 'index.html';

const extensions: Readonly<Record<Format, string>> = {
  png: '.png',
  jpeg: '.jpg',
  webp: '.webp',
  pdf: '.pdf',
  none: '.json',
};

const extensionOf = ({ request }: Entry) => extensions[(request['format'] as Format | undefined) ?? 'png'];

/**
 * Returns a distinct file in the output folder for each entry: the file of an earlier run, the file that the list names, or a name derived
 * from the address. Names that differ only by case count as equal, because some file systems do not distinguish them.
 *
 * @param earlier files of earlier runs by entry id
 * @throws CliError `usage` for names in the list that collide or are outside the folder
 */
export function chooseFiles(entries: readonly Entry[], earlier: ReadonlyMap<string, string>): Map<string, string> {
  const files = new Map<string, string>();
  // The set includes entries that are no longer in the list, so that their pictures are not overwritten.
  const taken = new Set([stateFile, lockFile, indexFile, ...[...earlier.values()].map((file) => file.toLowerCase())]);
  for (const { id } of entries) {
    const file = earlier.get(id);
    if (file !== undefined) files.set(id, file);
  }
  const named = entries.filter(({ id, file }) => file !== undefined && !files.has(id));
  for (const entry of named) {
    const file = checkName(entry);
    if (taken.has(file.toLowerCase())) {
      throw new CliError(
        'usage',
        `${entry.place}: the file ${file} belongs to another entry, to an earlier run with other options, or to the batch itself. Nothing was sent.`,
      );
    }
    files.set(entry.id, file);
    taken.add(file.toLowerCase());
  }
  // Last number for each name. Without these numbers, thousands of equal addresses would take quadratic time.
  const numbers = new Map<string, number>();
  for (const entry of entries) {
    if (files.has(entry.id)) continue;
    const stem = nameOf(entry.url);
    const extension = extensionOf(entry);
    let number = numbers.get(stem) ?? 1;
    const fileOf = () => (number === 1 ? stem : `${stem}-${number}`) + extension;
    while (taken.has(fileOf().toLowerCase())) number++;
    numbers.set(stem, number);
    files.set(entry.id, fileOf());
    taken.add(fileOf().toLowerCase());
  }
  return files;
}

/** Returns those characters of the address that every file system allows: `example.com-blog-a` for `https://example.com/blog/a/`. */
function nameOf(url: string): string {
  const whole = url.replace(/^https?:\/\//i, '').replace(/^[^/?#]*@/, '');
  const plain = whole
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .slice(0, maxNameBytes)
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .toLowerCase();
  // Windows reserves these names for devices, with any extension.
  return plain === '' || /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/.test(plain) ? `page-${plain}`.replace(/-$/, '') : plain;
}

/** Validates a name in the list. It must be a path with forward slashes inside the output folder. */
function checkName({ file = '', place, ...entry }: Entry): string {
  const problem = problemOfName(file, maxNameBytes);
  if (problem !== undefined) {
    throw new CliError('usage', `${place}: file ${JSON.stringify(file)} ${problem}. Nothing was sent.`);
  }
  return hasExtension(file) ? file : `${file}${extensionOf({ file, place, ...entry })}`;
}

/** Whether {@link chooseFiles} may have created this name, including the extension and a number. */
export const isChosenName = (file: string): boolean =>
  problemOfName(file, maxNameBytes + maxEndingBytes) === undefined && hasExtension(file);

const hasExtension = (file: string) => /\.(png|jpe?g|webp|pdf|json)$/i.test(file);

function problemOfName(file: string, maxBytes: number): string | undefined {
  const steps = file.split('/');
  if (/[\p{Cc}\p{Cf}\\:*?"<>|]/u.test(file)) return 'contains characters that are not allowed in file names';
  if (steps.some((step) => step === '' || step === '.' || step === '..')) return 'must stay inside the output folder';
  if (steps.some((step) => step.startsWith('.') || /[. ]$/.test(step)))
    return 'has a part that begins or ends with a dot';
  if (steps.some((step) => Buffer.byteLength(step) > maxBytes)) return `has a part of more than ${maxBytes} bytes`;
  return undefined;
}
