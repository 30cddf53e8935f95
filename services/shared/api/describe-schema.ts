/** Those parts of a JSON schema of the API that are used to describe it, to create flags and forms, and to find fields. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly writeOnly?: boolean;
}

/** Returns the steps of a JSON pointer. */
export function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the alternatives of a schema; the schema itself if it has none. */
export const variantsOf = (schema: JsonSchema): readonly JsonSchema[] => schema.anyOf?.flatMap(variantsOf) ?? [schema];

/** Returns the fields of an object, or of the alternative that is an object. */
export const fieldsOf = (schema: JsonSchema | undefined): Readonly<Record<string, JsonSchema>> =>
  (schema && variantsOf(schema).find(({ properties }) => properties !== undefined)?.properties) ?? {};

/**
 * Returns the schema of a field by its path from the root; undefined if there is none.
 *
 * @param inLists whether a path may lead through the items of a list, and through the names that the client chooses
 */
export function fieldAt(root: JsonSchema, path: readonly (string | number)[], inLists = false): JsonSchema | undefined {
  let schema: JsonSchema | undefined = root;
  for (const step of path) {
    const fields = fieldsOf(schema);
    const { items, additionalProperties }: JsonSchema = schema ?? {};
    const inside: JsonSchema | undefined =
      items ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    schema = Object.hasOwn(fields, step) ? fields[step] : inLists ? inside : undefined;
  }
  return schema;
}

/** Whether the value of a field is secret (`writeOnly` in terms of OpenAPI), or should contain a secret. */
export const isSecretField = (root: JsonSchema, path: readonly string[]): boolean =>
  path.some((_, index) => fieldAt(root, path.slice(0, index + 1), true)?.writeOnly === true) ||
  hasSecrets(fieldAt(root, path, true));

/** Describes the values of a schema for the end of a sentence: "an integer from 1 to 100", "one of png, jpeg". */
export function describeSchema(schema: JsonSchema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(describeSchema))].join(', or ');
  switch (schema.type) {
    case 'integer':
      return `an integer${bounds(schema)}`;
    case 'number':
      return `a number${bounds(schema)}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      return `a string${length(schema)}`;
    case 'array':
      return list(schema);
    case 'null':
      return 'null';
    case 'object':
      return `an object${fields(schema)}`;
    default:
      return schema.type === undefined ? 'of another form' : `of type ${schema.type}`;
  }
}

function bounds({ minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  if (exclusiveMinimum !== undefined) {
    return ` greater than ${exclusiveMinimum}${maximum === undefined ? '' : ` and at most ${maximum}`}`;
  }
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

/** Describes the range of a number in short: "1 to 100", "more than 60, at most 2592000". Returns undefined if the number has no bound. */
export function describeRange({ minimum, exclusiveMinimum, maximum }: JsonSchema): string | undefined {
  if (maximum === undefined) return undefined;
  if (exclusiveMinimum !== undefined) return `more than ${exclusiveMinimum}, at most ${maximum}`;
  return minimum === undefined ? undefined : `${minimum} to ${maximum}`;
}

function length({ minLength, maxLength, pattern, examples }: JsonSchema): string {
  if (pattern !== undefined)
    return examples === undefined ? ` that matches ${pattern}` : ` like ${JSON.stringify(examples[0])}`;
  if (maxLength === undefined) return '';
  return minLength === undefined
    ? ` of at most ${maxLength} characters`
    : ` of ${minLength} to ${maxLength} characters`;
}

function list({ items, minItems, maxItems, uniqueItems }: JsonSchema): string {
  const of = items?.enum === undefined ? '' : ` of ${items.enum.join(', ')}`;
  const most = maxItems === undefined || of !== '' ? '' : ` of at most ${maxItems}`;
  return `${(minItems ?? 0) > 0 ? 'a list, not empty,' : 'a list'}${of}${most}${uniqueItems === true ? ', each once' : ''}`;
}

function fields({ properties, minProperties = 0, maxProperties }: JsonSchema): string {
  const names = Object.keys(properties ?? {});
  const all = names.join(', ');
  if (names.length === 0) return maxProperties === undefined ? '' : ` of ${minProperties} to ${maxProperties} fields`;
  return maxProperties === 1 ? ` with one of ${all}` : ` with ${all}`;
}

/** Whether a value of the schema is secret, or contains a secret at any depth. */
const hasSecrets = (schema: JsonSchema | undefined): boolean =>
  schema !== undefined &&
  (schema.writeOnly === true || [schema.items, ...Object.values(schema.properties ?? {})].some(hasSecrets));
