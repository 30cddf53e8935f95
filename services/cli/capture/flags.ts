import { mergeOptions } from '@webcapture/shared/api/merge-options.ts';
import { type Command, Option } from 'commander';
import { CliError } from '../errors.ts';
import { readUserFile } from '../files.ts';
import { isObject, parseJson } from '../json.ts';
import {
  byField,
  byFlag,
  type CaptureOption,
  captureOptions,
  findProblems,
  helpOf,
  type NameOption,
  placeholderOf,
  readOption,
  setOption,
} from './options.ts';

/** Fields of a request that the command sets itself and that have no flag. */
export interface FlagOptions {
  readonly without?: readonly string[];
}

/** Adds a flag to a command for each option of a capture, in groups. */
export function addCaptureFlags(command: Command, { without = [] }: FlagOptions = {}): Command {
  for (const option of captureOptions) {
    if (without.includes(option.path[0] ?? '')) continue;
    for (const each of flagsOf(option)) command.addOption(each);
  }
  command.option('--options <file>', 'JSON file of options, with the names of the API; flags take precedence');
  return command;
}

function flagsOf(option: CaptureOption): Option[] {
  const placeholder = placeholderOf(option);
  const heading = `${option.group}:`;
  if (placeholder === null) {
    const off = new Option(option.flag.replace('--', '--no-'), 'Sets it to false.').hideHelp();
    return [new Option(option.flag, helpOf(option)).helpGroup(heading), off];
  }
  const flag = new Option(`${option.flag} ${placeholder}`, helpOf(option)).helpGroup(heading);
  return [flag.argParser((text: string, former: string[] | undefined) => [...(former ?? []), text])];
}

const switches = new Set(captureOptions.filter(({ reading }) => reading === 'boolean').map(({ flag }) => flag));

/** Whether a flag has a counterpart that sets its option to false. */
export const isSwitch = ({ long }: Option): boolean => switches.has(long ?? '');

/**
 * Reads the options of a request from flags and --options.
 *
 * @param values the values that commander parsed
 * @throws CliError `usage` that names each invalid flag and its rule; `file`
 */
export async function readCaptureFlags(values: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const file = values['options'] as string | undefined;
  const below = file === undefined ? {} : await readOptionsFile(file);
  const given: Record<string, unknown> = {};
  for (const option of captureOptions) {
    const value = values[attributeOf(option)];
    if (value === undefined) continue;
    setOption(given, option.path, Array.isArray(value) ? readOption(option, value as string[]) : value);
  }
  const options = mergeOptions(below, given);
  const isOfFile = (path: readonly string[]) => hasPath(below, path) && !hasPath(given, path);
  const nameOption: NameOption = (path) => (isOfFile(path) ? `${file}: ${byField(path)}` : byFlag(path));
  const problems = findProblems(options, nameOption);
  if (problems.length > 0) throw new CliError('usage', `${problems.join('; ')}.`);
  return options;
}

function hasPath(options: unknown, path: readonly string[]): boolean {
  let value = options;
  for (const name of path) value = isObject(value) || Array.isArray(value) ? Reflect.get(value, name) : undefined;
  return value !== undefined;
}

const attributeOf = ({ flag }: CaptureOption) => new Option(flag).attributeName();

async function readOptionsFile(path: string): Promise<Record<string, unknown>> {
  const text = (await readUserFile(path)).toString();
  const options = parseJson(text);
  if (!isObject(options)) throw new CliError('usage', `${path} must be a JSON object with options of a capture.`);
  // The file may be a complete request; fields that the command sets itself are ignored.
  const { url: _url, html: _html, responseType: _type, ...rest } = options;
  return rest;
}
