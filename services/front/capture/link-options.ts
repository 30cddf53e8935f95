import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import { linkRefusals } from '@webcapture/shared/api/link-refusals.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { LinkParameter } from '../auth/link-signature.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { fieldAt } from '../validation/explain-errors.ts';
import { isObject } from '../validation/is-object.ts';

const schema: JsonSchema = captureRequestSchema as object;

/** More would not help anybody. */
const maxProblems = 5;

/**
 * The parameters of a link as the body of POST /capture that they stand for: fields of objects by dotted paths, lists by
 * repetition in the order of the parameters, and values read by their types in the schema. What is no value of its type stays text, for the validation
 * to say so.
 *
 * @throws ServiceError VALIDATION_ERROR for what cannot be in a link, or is given twice
 */
export function bodyOfLink(parameters: readonly LinkParameter[]): Record<string, unknown> {
  const problems: string[] = [];
  const root: Fields = new Map();
  for (const [name, group] of Map.groupBy(parameters, ([each]) => each)) {
    const path = knownPath(name);
    const refused = refusedPart(name);
    if (refused !== undefined) problems.push(`${refused} cannot be in a link: ${linkRefusals.get(refused)}`);
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
  const body = { ...toObject(root), responseType: 'file' };
  problems.push(...cacheProblems(body));
  if (problems.length > 0) throw new ServiceError('VALIDATION_ERROR', problems.slice(0, maxProblems).join('; '));
  return body;
}

/** The cache is on: without it, whoever sees a link spends the account's quota by loading it again. */
function cacheProblems(body: Record<string, unknown>): readonly string[] {
  const { responseCache = {} } = body;
  if (!isObject(responseCache)) return [];
  body['responseCache'] = { enabled: true, ...responseCache };
  return responseCache['enabled'] === false
    ? ['responseCache.enabled cannot be false in a link: each view would cost a capture']
    : [];
}

/** The option that a parameter may not be, or not be a part of; undefined: it may be in a link. */
function refusedPart(name: string): string | undefined {
  const steps = name.split('.');
  return steps.map((_, index) => steps.slice(0, index + 1).join('.')).find((part) => linkRefusals.has(part));
}

/** Objects under construction: a name like `__proto__` is one like any other in a map. */
type Fields = Map<string, unknown>;

/** The steps of a dotted name as far as the schema knows them; what it does not know stays one step, for the validation to name it. */
function knownPath(name: string): readonly string[] {
  const steps = name.split('.');
  const unknown = steps.findIndex((_, index) => fieldAt(schema, steps.slice(0, index + 1)) === undefined);
  return unknown < 0 ? steps : [...steps.slice(0, unknown), steps.slice(unknown).join('.')];
}

/** False when something is there already, or the value is undefined. */
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

/** The value of a field that the texts stand for; undefined when there are several of what is no list. */
function valueOf(field: JsonSchema = {}, texts: readonly string[]): unknown {
  const [first = '', ...others] = texts;
  const list = variantsOf(field).find(({ type }) => type === 'array');
  const isOneValue = others.length === 0 && (list !== field || Array.isArray(jsonOf(first)));
  if (isOneValue) return readText(field, first);
  return list === undefined ? undefined : texts.map((text) => readText(list.items ?? {}, text));
}

/** JSON, where that is a value of a type that the field may have other than a string; else the text itself. */
function readText(field: JsonSchema, text: string): unknown {
  const value = jsonOf(text);
  if (value === undefined || typeof value === 'string') return text;
  const type = typeOf(value);
  const isMeant = variantsOf(field).some(
    (each) => each.type === type || (each.type === 'integer' && type === 'number'),
  );
  return isMeant ? value : text;
}

const variantsOf = (field: JsonSchema): readonly JsonSchema[] => field.anyOf?.flatMap(variantsOf) ?? [field];

/** Undefined for what is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As a JSON schema calls it. */
function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * The options that a link can have, for the OpenAPI document: each as a parameter of its name. Objects that can be said by
 * dotted paths are not listed themselves.
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
