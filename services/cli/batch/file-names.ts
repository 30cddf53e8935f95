import type { Format } from '@webcapture/shared/api/formats.ts';
import { CliError } from '../errors.ts';
import type { Entry } from './entries.ts';

/** Bytes: file systems take 255 for a name, and temporary files and endings need some. */
const maxNameBytes = 120;
/** Such as `-100000.webp`. */
const maxEndingBytes = 12;

/** Files of a batch that are no pictures. */
export const stateFile = '.webcapture-batch.jsonl';
export const lockFile = '.webcapture-batch.lock';
export const indexFile = 'index.html';

const extensions: Readonly<Record<Format, string>> = { png: '.png', jpeg: '.jpg', webp: '.webp', pdf: '.pdf' };

const extensionOf = ({ request }: Entry) => extensions[(request['format'] as Format | undefined) ?? 'png'];

/**
 * A file of its own for each entry, inside of the output folder: that of an earlier run, the one that the list names, else one made
 * of the address. Names that differ only by case count as the same, since some file systems take them so.
 *
 * @param earlier by the entries' ids
 * @throws CliError `usage` for names of the list that collide or leave the folder
 */
export function chooseFiles(entries: readonly Entry[], earlier: ReadonlyMap<string, string>): Map<string, string> {
  const files = new Map<string, string>();
  // Also those of entries that the list no longer has: their pictures are not overwritten.
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
        `${entry.place}: the file ${file} is that of another entry, of an earlier run with other options, or of the batch itself. Nothing was sent.`,
      );
    }
    files.set(entry.id, file);
    taken.add(file.toLowerCase());
  }
  // Of thousands of equal addresses, each starts counting where the one before it stopped.
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

/** Letters of the address that every file system takes: `example.com-blog-a` for `https://example.com/blog/a/`. */
function nameOf(url: string): string {
  const whole = url.replace(/^https?:\/\//i, '').replace(/^[^/?#]*@/, '');
  const plain = whole
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .slice(0, maxNameBytes)
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .toLowerCase();
  // Windows keeps these names for devices, with any ending.
  return plain === '' || /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/.test(plain) ? `page-${plain}`.replace(/-$/, '') : plain;
}

/** A name of the list, as a path with forward slashes below the output folder. */
function checkName({ file = '', place, ...entry }: Entry): string {
  const problem = problemOfName(file, maxNameBytes);
  if (problem !== undefined) {
    throw new CliError('usage', `${place}: file ${JSON.stringify(file)} ${problem}. Nothing was sent.`);
  }
  return isPicture(file) ? file : `${file}${extensionOf({ file, place, ...entry })}`;
}

/** Whether {@link chooseFiles} may have given out this name, which has an ending and perhaps a number by then. */
export const isChosenName = (file: string): boolean =>
  problemOfName(file, maxNameBytes + maxEndingBytes) === undefined && isPicture(file);

const isPicture = (file: string) => /\.(png|jpe?g|webp|pdf)$/i.test(file);

function problemOfName(file: string, maxBytes: number): string | undefined {
  const steps = file.split('/');
  if (/[\p{Cc}\p{Cf}\\:*?"<>|]/u.test(file)) return 'has characters that a file name cannot have';
  if (steps.some((step) => step === '' || step === '.' || step === '..'))
    return 'must stay inside of the output folder';
  if (steps.some((step) => step.startsWith('.') || /[. ]$/.test(step)))
    return 'has a part that begins or ends with a dot';
  if (steps.some((step) => Buffer.byteLength(step) > maxBytes)) return `has a part of more than ${maxBytes} bytes`;
  return undefined;
}
