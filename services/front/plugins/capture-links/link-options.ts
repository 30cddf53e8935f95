import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import { optionsWithoutLink } from '@webcapture/shared/api/link-refusals.ts';
import { linkRefusals } from '@webcapture/shared/api/option-table.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { LinkParameter } from '../../auth/link-signature.ts';
import { fieldAt, type JsonSchema, variantsOf } from '@webcapture/shared/api/describe-schema.ts';
import { isObject } from '../../validation/is-object.ts';

const schema: JsonSchema = captureRequestSchema as object;

/** Maximum number of problems in one message, to keep it readable. */
const maxProblems = 5;

/**
 * Converts the parameters of a link to a body of POST /capture: dotted names become fields of objects, repeated names become lists in
 * the order of the parameters, and values are parsed by their types in the schema. A value of the wrong type stays a string, so that the
 * validation reports it.
 *
 * @throws ServiceError VALIDATION_ERROR for an option that is not allowed in a link, or is repeated
 */
export function bodyOfLink(parameters: readonly LinkParameter[]): Record<string, unknown> {
  const problems: string[] = [];
  const root: Fields = new Map();
  for (const [name, group] of Map.groupBy(parameters, ([each]) => each)) {
    const path = knownPath(name);
    const refused = refusedPart(name);
    if (refused !== undefined) problems.push(refusalOf(refused));
    else if (
      !place(
        root,
        path,
        valueOf(
          fieldAt(schema, path),
          group.map(([, text]) => text),
        ),
      )
    ) {
      problems.push(`${path.join('.')} must be given once`);
    }
  }
  const given = toObject(root);
  // Options inside values that are JSON are checked as well.
  problems.push(...optionsWithoutLink(given, linkRefusals.keys()).map(refusalOf));
  const body = { ...given, responseType: 'file' };
  problems.push(...cacheProblems(body));
  if (problems.length > 0) throw new ServiceError('VALIDATION_ERROR', problems.slice(0, maxProblems).join('; '));
  return body;
}

const refusalOf = (option: string) => `${option} cannot be in a link: ${linkRefusals.get(option)}`;

/** Enables the cache: without it, anyone who sees a link could use up the account's quota by reloading it. */
function cacheProblems(body: Record<string, unknown>): readonly string[] {
  const { responseCache = {} } = body;
  if (!isObject(responseCache)) return [];
  body['responseCache'] = { enabled: true, ...responseCache };
  return responseCache['enabled'] === false
    ? ['responseCache.enabled cannot be false in a link: each view would cost a capture']
    : [];
}

/** Returns the forbidden option that a parameter sets, or sets a part of; undefined if the parameter is allowed. */
function refusedPart(name: string): string | undefined {
  // Names can be long, so the run time must not grow with the square of their length.
  return [...linkRefusals.keys()].find((option) => name === option || name.startsWith(`${option}.`));
}

/** Objects under construction. In a map, a name like `__proto__` has no special meaning. */
type Fields = Map<string, unknown>;

/** Splits a dotted name into fields as far as the schema has them. The rest stays one name, so that the validation reports it. */
function knownPath(name: string): readonly string[] {
  const steps = name.split('.');
  const unknown = steps.findIndex((_, index) => fieldAt(schema, steps.slice(0, index + 1)) === undefined);
  return unknown < 0 ? steps : [...steps.slice(0, unknown), steps.slice(unknown).join('.')];
}

/** Returns false if the field is already set, or if the value is undefined. */
function place(root: Fields, path: readonly string[], value: unknown): boolean {
  let fields = root;
  for (const step of path.slice(0, -1)) {
    const next = fields.get(step) ?? new Map();
    if (!(next instanceof Map)) return false;
    fields.set(step, next);
    fields = next as Fields;
  }
  const last = path.at(-1) ?? '';
  if (value === undefined || fields.has(last)) return false;
  fields.set(last, value);
  return true;
}

const toObject = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    [...fields].map(([name, value]) => [name, value instanceof Map ? toObject(value as Fields) : value]),
  );

/** Parses the values of a parameter; undefined if there are several for a field that is not a list. */
function valueOf(field: JsonSchema = {}, texts: readonly string[]): unknown {
  const [first = '', ...others] = texts;
  const list = variantsOf(field).find(({ type }) => type === 'array');
  const isOneValue = others.length === 0 && (list !== field || Array.isArray(jsonOf(first)));
  if (isOneValue) return readText(field, first);
  return list === undefined ? undefined : texts.map((text) => readText(list.items ?? {}, text));
}

/** Returns the parsed JSON if it is not a string and the field accepts its type. Otherwise returns the text. */
function readText(field: JsonSchema, text: string): unknown {
  const value = jsonOf(text);
  if (value === undefined || typeof value === 'string') return text;
  const type = typeOf(value);
  const isMeant = variantsOf(field).some(
    (each) => each.type === type || (each.type === 'integer' && type === 'number'),
  );
  return isMeant ? value : text;
}

/** Returns undefined for invalid JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the name of the type in JSON schemas. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Returns the schemas of all options that a link can have, by parameter name, for the OpenAPI document. An object is omitted if its fields
 * are listed with dotted names.
 */
export function linkOptionSchemas(): Record<string, object> {
  return Object.fromEntries(Object.entries(schema.properties ?? {}).flatMap(([name, field]) => leavesOf(name, field)));
}

const leavesOf = (name: string, field: JsonSchema): readonly (readonly [string, object])[] =>
  linkRefusals.has(name)
    ? []
    : field.properties === undefined
      ? [[name, field]]
      : Object.entries(field.properties).flatMap(([step, child]) => leavesOf(`${name}.${step}`, child));
