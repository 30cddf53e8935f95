import { Check } from 'typebox/schema';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import {
  describeRange,
  describeSchema,
  fieldAt,
  isSecretField,
  type JsonSchema,
  variantsOf,
} from '@webcapture/shared/api/describe-schema.ts';
import { devices } from '@webcapture/shared/api/devices.ts';
import { flagOf } from '@webcapture/shared/api/option-flags.ts';
import { optionGroups, optionSchemas } from '@webcapture/shared/api/option-table.ts';
import type { CaptureOptions } from '@webcapture/client';
import { isObject, parseJson } from '../json.ts';

/** How the text of a flag is parsed: one value, a list with one value per flag, `Name: value`, or JSON. */
type Reading = 'boolean' | 'single' | 'list' | 'record' | 'json';

/** An option of `POST /capture` that has a flag. It is a leaf of the schema. */
export interface CaptureOption {
  /** Path of the field, such as ['viewport', 'width']. */
  readonly path: readonly string[];
  /** Name of the flag, such as `--viewport-width`. */
  readonly flag: string;
  readonly group: string;
  readonly schema: JsonSchema;
  readonly reading: Reading;
}

const root = captureRequestSchema as unknown as JsonSchema;

/** All options with a flag, by group. */
export const captureOptions: readonly CaptureOption[] = optionGroups.flatMap(({ title, options }) =>
  options.flatMap((name) => leaves(optionSchemas[name] as JsonSchema, [name], title)),
);

function leaves(schema: JsonSchema, path: readonly string[], group: string): CaptureOption[] {
  if (schema.type === 'object' && schema.properties !== undefined) {
    return Object.entries(schema.properties).flatMap(([name, child]) => leaves(child, [...path, name], group));
  }
  return [{ path, flag: flagOf(path), group, schema, reading: readingOf(schema) }];
}

function readingOf(schema: JsonSchema): Reading {
  if (schema.type === 'boolean') return 'boolean';
  if (schema.type === 'object') return 'record';
  if (schema.type !== 'array') return 'single';
  return schema.items?.type === 'object' ? 'json' : 'list';
}

/** Returns a placeholder such as `<integer>`; null for a boolean, which has no value. */
export function placeholderOf({ schema, reading }: CaptureOption): string | null {
  if (reading === 'boolean') return null;
  if (reading === 'record') return '<name: value>';
  if (reading === 'json') return '<json>';
  const one = reading === 'list' ? (schema.items ?? {}) : schema;
  if (one.enum !== undefined) return `<${one.enum.join('|')}>`.length <= 40 ? `<${one.enum.join('|')}>` : '<name>';
  if (one.anyOf !== undefined) return '<value>';
  return one.type === 'string' ? '<text>' : '<number>';
}

/** Returns the values of a flag that shells can complete; an empty list if other values are allowed. */
export function valuesOf(flag: string): readonly string[] {
  const option = captureOptions.find((each) => each.flag === flag);
  if (option === undefined) return [];
  // The schema does not list the 200 names.
  if (option.path[0] === 'device') return [...devices.keys()];
  return (option.schema.enum ?? option.schema.items?.enum ?? []).map(String);
}

/** Returns the help text of an option: its purpose, its range, and its default. */
export function helpOf({ schema, reading, path }: CaptureOption): string {
  const one = reading === 'list' ? (schema.items ?? {}) : schema;
  const facts = [
    one.enum !== undefined && `<${one.enum.join('|')}>`.length > 40 ? one.enum.join(', ') : undefined,
    describeRange(one),
    ['list', 'record', 'json'].includes(reading) ? 'can be repeated' : undefined,
    schema.default === undefined ? undefined : `default: ${JSON.stringify(schema.default)}`.replaceAll('"', ''),
  ].filter((fact) => fact !== undefined);
  const said = schema.description ?? one.description ?? fieldAt(root, path.slice(0, -1))?.description ?? '';
  return `${said}${facts.length === 0 ? '' : ` (${facts.join('; ')})`}`.trim();
}

/**
 * Parses the value of a flag or of a cell in a CSV file. Invalid text is returned unchanged, and {@link findProblems} reports it.
 *
 * @param texts one text for each use of the flag
 */
export function readOption({ schema, reading }: CaptureOption, texts: readonly string[]): unknown {
  const text = texts.at(-1) ?? '';
  switch (reading) {
    case 'boolean':
      return { true: true, false: false }[text] ?? text;
    case 'single':
      return readScalar(schema, text);
    case 'list':
      return texts.map((each) => readScalar(schema.items ?? {}, each));
    case 'record':
      return readRecord(schema, texts);
    case 'json': {
      const values = texts.map(readJson);
      return values.some((value) => value === undefined) ? text : values.flat();
    }
  }
}

/** Parses `Name: value`, or all entries as a JSON object. Returns the text unchanged if it has no colon. */
function readRecord({ additionalProperties }: JsonSchema, texts: readonly string[]): unknown {
  const each = typeof additionalProperties === 'object' ? additionalProperties : {};
  const record: Record<string, unknown> = {};
  for (const text of texts) {
    const value = text.startsWith('{') ? readJson(text) : undefined;
    if (value !== undefined) {
      Object.assign(record, value);
      continue;
    }
    const colon = text.indexOf(':');
    if (colon < 1) return text;
    record[text.slice(0, colon).trim()] = readScalar(each, text.slice(colon + 1).trim());
  }
  return record;
}

function readScalar(schema: JsonSchema, text: string): unknown {
  const types = variantsOf(schema).map(({ type }) => type);
  if (types.includes('object') && text.startsWith('{')) return readJson(text) ?? text;
  const isNumber = /^-?\d+(\.\d+)?$/.test(text) && (types.includes('integer') || types.includes('number'));
  return isNumber ? Number(text) : text;
}

function readJson(text: string): object | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Sets the value at a path of a request. */
export function setOption(request: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let place = request;
  for (const name of path.slice(0, -1)) {
    const next = place[name];
    place = (place[name] = isObject(next) ? next : {}) as Record<string, unknown>;
  }
  place[path.at(-1) ?? ''] = value;
}

/** Returns the name of an option for messages: the flag on the command line, the field in a file. */
export type NameOption = (path: readonly string[]) => string;

export const byField: NameOption = (path) => path.join('.');

export const byFlag: NameOption = (path) => {
  const option = captureOptions.find((each) => each.path.every((name, index) => path[index] === name));
  if (option === undefined) return flagOf(path);
  const inside = path.slice(option.path.length);
  return inside.length === 0 ? option.flag : `${option.flag} (${inside.join('.')})`;
};

/**
 * Returns the problems of a request, each as a sentence; an empty list if it can be sent. The service checks rules between options. Values
 * of secrets are not repeated.
 */
export function findProblems(request: Record<string, unknown>, nameOption: NameOption): string[] {
  return [...problemsIn(root, request, [], nameOption)];
}

function* problemsIn(
  schema: JsonSchema,
  value: unknown,
  path: readonly string[],
  nameOption: NameOption,
): Generator<string> {
  const { properties } = schema;
  if (properties !== undefined && isObject(value)) {
    for (const [name, child] of Object.entries(value)) {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (known === undefined) yield `${[...path, name].join('.')} is not an option of a capture`;
      else yield* problemsIn(known, child, [...path, name], nameOption);
    }
    if (schema.maxProperties === 1 && Object.keys(value).length !== 1) {
      yield `${nameOption(path)} must be ${describeSchema(schema)}`;
    }
    for (const name of schema.required ?? []) {
      const isMissing = value[name] === undefined && properties[name]?.default === undefined;
      if (isMissing) yield `${nameOption([...path, name])} is required with ${path.join('.')}`;
    }
    return;
  }
  const { items, additionalProperties: named } = schema;
  if (typeof named === 'object' && isObject(value)) {
    const inside = Object.entries(value).flatMap(([name, child]) => [
      ...problemsIn(named, child, [...path, name], nameOption),
    ]);
    yield* inside;
    if (inside.length > 0) return;
  }
  if (items?.properties !== undefined && Array.isArray(value)) {
    const inside = value.flatMap((each, index) => [...problemsIn(items, each, [...path, String(index)], nameOption)]);
    yield* inside;
    if (inside.length > 0) return;
  }
  if (Check(schema as object, value)) return;
  const isPlainList = schema.type === 'array' && items?.properties === undefined;
  const given = isSecretField(root, path) ? '' : `, not ${describeGiven(value)}`;
  yield `${nameOption(path)} must be ${isPlainList ? describeList(schema) : describeOne(schema)}${given}`;
}

/** An object with arbitrary keys is described as its lines. */
const describeOne = (schema: JsonSchema) =>
  schema.type === 'object' && schema.properties === undefined
    ? 'lines of the form "Name: value"'
    : describeSchema(schema);

/** Describes a list, of which a flag sets one element. */
function describeList({ items = {}, maxItems }: JsonSchema): string {
  return `${describeSchema(items)}, up to ${maxItems ?? 'any number of'} times`;
}

function describeGiven(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`;
}

/** Returns the request with its type. Call it after {@link findProblems} has found no problem. */
export const asCaptureOptions = (request: Record<string, unknown>): CaptureOptions =>
  request as unknown as CaptureOptions;
