import { createHash } from 'node:crypto';
import { parse as parseCsv } from 'csv-parse/sync';
import { flagOf } from '@webcapture/shared/api/option-flags.ts';
import { mergeOptions } from '@webcapture/shared/api/merge-options.ts';
import {
  byField,
  captureOptions,
  type CaptureOption,
  findProblems,
  readOption,
  setOption,
} from '../capture/options.ts';
import { CliError } from '../errors.ts';
import { isObject, parseJson } from '../json.ts';

/** One page of a batch. */
export interface Entry {
  /** Identifies the entry across runs: a hash of its request. If equal requests precede it in the list, a number is appended. */
  readonly id: string;
  /** The page address, for messages. */
  readonly url: string;
  /** Body of POST /capture. */
  readonly request: Readonly<Record<string, unknown>>;
  /** Path of the picture in the output folder, if the list contains one. */
  readonly file: string | undefined;
  /** Location in the list, such as `line 3`. */
  readonly place: string;
}

/** An entry as written in its file. */
export interface RawEntry {
  readonly place: string;
  readonly request: Record<string, unknown>;
  readonly file?: string | undefined;
}

/** Options that a batch sets itself. */
export const notForBatches = ['background', 'webhook'];

/** Maximum number of problems in one message. */
const maxProblems = 10;

export const maxEntries = 100_000;

/**
 * Converts the entries of a list to requests.
 *
 * @param common options for all entries; the options of an entry override them
 * @throws CliError `usage` that names the invalid lines
 */
export function makeEntries(raw: readonly RawEntry[], common: Record<string, unknown>): Entry[] {
  if (raw.length === 0) throw new CliError('usage', 'The list has no entries.');
  if (raw.length > maxEntries) throw new CliError('usage', `The list has more than ${maxEntries} entries. Split it.`);
  const problems: string[] = [];
  const seen = new Map<string, number>();
  const entries = raw.map(({ place, request: own, file }) => {
    const request = mergeOptions(common, own);
    for (const problem of problemsOf(request)) problems.push(`${place}: ${problem}`);
    const hash = createHash('sha256').update(canonical(request)).digest('hex').slice(0, 24);
    const equalBefore = seen.get(hash) ?? 0;
    seen.set(hash, equalBefore + 1);
    const url = typeof request['url'] === 'string' ? request['url'] : '(html)';
    return { id: equalBefore === 0 ? hash : `${hash}-${equalBefore + 1}`, url, request, file, place };
  });
  if (problems.length > 0) {
    const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : '';
    throw new CliError('usage', `${problems.slice(0, maxProblems).join('; ')}${more}. Nothing was sent.`);
  }
  return entries;
}

function problemsOf(request: Record<string, unknown>): string[] {
  const { url, html } = request;
  const problems = findProblems(request, byField);
  if ((url === undefined) === (html === undefined)) problems.push('exactly one of url and html is required');
  else if (typeof url === 'string' && !isWebAddress(url))
    problems.push(`"${url.slice(0, 200)}" is not an http or https URL`);
  for (const name of [...notForBatches, 'responseType']) {
    if (request[name] !== undefined) problems.push(`${name} cannot be set in a batch`);
  }
  return problems;
}

export function isWebAddress(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}

/** Returns a value as JSON with sorted object keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each,
  );
}

/** Format of a list. `sitemap.ts` reads sitemaps. */
export type ListForm = 'csv' | 'jsonl' | 'plain';

/**
 * Detects the format by the start of the text. An object means JSON lines, a header with a column url means CSV, and any other text is a
 * list of addresses.
 */
export function formOf(text: string): ListForm {
  const first = text.split(/\r?\n/).find((line) => line.trim() !== '') ?? '';
  if (/^\s*\{/.test(first) || (/^\s*"/.test(first) && isJson(first))) return 'jsonl';
  const columns = first.split(/[,;\t]/).map((name) => name.replaceAll('"', '').trim().toLowerCase());
  return columns.includes('url') ? 'csv' : 'plain';
}

const isJson = (text: string) => parseJson(text) !== undefined;

/** @throws CliError `usage` for text in another format */
export function readList(text: string, form: ListForm = formOf(text)): RawEntry[] {
  const plain = text.replace(/^\uFEFF/, '');
  switch (form) {
    case 'csv':
      return readCsv(plain);
    case 'jsonl':
      return readJsonLines(plain);
    case 'plain':
      return readAddresses(plain);
  }
}

/** Reads one address per line; skips empty lines and lines that start with #. */
function readAddresses(text: string): RawEntry[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const url = line.trim();
    return url === '' || url.startsWith('#') ? [] : [{ place: `line ${index + 1}`, request: { url } }];
  });
}

function readJsonLines(text: string): RawEntry[] {
  return text.split(/\r?\n/).flatMap((line, index): RawEntry[] => {
    if (line.trim() === '') return [];
    const place = `line ${index + 1}`;
    const value = parseLine(line, place);
    if (typeof value === 'string') return [{ place, request: { url: value } }];
    if (!isObject(value))
      throw new CliError('usage', `${place}: it must be a JSON object with options, or a string with a URL.`);
    const { file, ...request } = value;
    if (file !== undefined && typeof file !== 'string') throw new CliError('usage', `${place}: file must be a string.`);
    return [{ place, request, file }];
  });
}

function parseLine(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new CliError('usage', `${place}: it is not JSON: ${(error as Error).message}.`, { cause: error });
  }
}

const byColumn = new Map<string, CaptureOption>(
  captureOptions.flatMap((option) => [
    [option.path.join('.').toLowerCase(), option] as const,
    [flagOf(option.path).replace(/^--/, ''), option] as const,
  ]),
);

/** A delimiter for a list with one column. It must not occur in addresses, which may contain commas. */
const noDelimiter = '\u0001';

/**
 * Reads the columns url and file, and options by field (`viewport.width`) or flag (`viewport-width`). An empty cell sets
 * no option.
 */
function readCsv(text: string): RawEntry[] {
  const delimiter = [',', ';', '\t'].find((each) => (text.split('\n', 1)[0] ?? '').includes(each)) ?? noDelimiter;
  let rows: { record: string[]; info: { lines: number } }[];
  try {
    rows = parseCsv(text, { delimiter, info: true, skip_empty_lines: true, trim: true }) as unknown as typeof rows;
  } catch (error) {
    throw new CliError('usage', `The list is not CSV: ${(error as Error).message}.`, { cause: error });
  }
  const columns = (rows[0]?.record ?? []).map((name) => ({ name, key: name.toLowerCase() }));
  const unknown = columns.filter(({ key }) => key !== 'url' && key !== 'file' && !byColumn.has(key));
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => `"${name}"`).join(', ');
    throw new CliError(
      'usage',
      `The header names columns that are not options of a capture: ${names}. Columns are url, file and options such as format or viewport.width.`,
    );
  }
  return rows.slice(1).map(({ record, info }) => {
    const raw: { place: string; request: Record<string, unknown>; file?: string } = {
      place: `line ${info.lines}`,
      request: {},
    };
    for (const [index, { key }] of columns.entries()) {
      const cell = record[index] ?? '';
      const option = byColumn.get(key);
      if (cell === '') continue;
      if (key === 'url') raw.request['url'] = cell;
      else if (key === 'file') raw.file = cell;
      else if (option !== undefined) setOption(raw.request, option.path, readOption(option, cellsOf(option, cell)));
    }
    return raw;
  });
}

/** Returns the values in a cell: the items of a JSON list, or one value. */
function cellsOf({ reading }: CaptureOption, cell: string): string[] {
  if (reading !== 'list' || !cell.startsWith('[') || !isJson(cell)) return [cell];
  return (JSON.parse(cell) as unknown[]).map(String);
}
