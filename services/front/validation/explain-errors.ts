import {
  describeSchema,
  fieldAt,
  fieldsOf,
  isSecretField,
  type JsonSchema,
  pathOf,
} from '@webcapture/shared/api/describe-schema.ts';
import { distanceOf, isContained, maxDistance, plain } from '@webcapture/shared/runtime/nearest-names.ts';
import { countCharacters } from './string-lengths.ts';

/** The fields of an ajv error (with `verbose`) that an explanation needs. */
interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The name that violates the rule for the names of an object. */
  readonly propertyName?: string;
  readonly parentSchema?: JsonSchema;
  readonly data?: unknown;
}

/** Maximum number of messages, for readability. */
const maxMessages = 5;

/**
 * Returns one sentence for each invalid field, with its name, the rule, and the sent value in short.
 *
 * @param errors of ajv with `verbose`
 * @param root the JSON schema that the value violates
 */
export function explainErrors(errors: readonly object[], root: object): string {
  // Only the first errors are explained, because the search for a similar field name takes longer than the validation.
  const distinct = new Map(relevant(errors as readonly SchemaError[]).map((error) => [subjectOf(error), error]));
  const messages = [...distinct.values()].slice(0, maxMessages).map((error) => explain(error, root as JsonSchema));
  const shown = messages.join('; ');
  return distinct.size > maxMessages ? `${shown}; and ${distinct.size - maxMessages} more` : shown;
}

/** Returns the subject of an error. There is one message for each subject. */
function subjectOf({ instancePath, keyword, params }: SchemaError): string {
  const field = params['additionalProperty'] ?? params['missingProperty'];
  return field === undefined ? instancePath : JSON.stringify([instancePath, keyword, field]);
}

function explain(error: SchemaError, root: JsonSchema): string {
  const path = pathOf(error.instancePath);
  // Some objects have field names that the client chooses.
  const field = path.map(shorten).join('.');
  switch (error.keyword) {
    case 'additionalProperties': {
      const unknown = String(error.params['additionalProperty']);
      const suggestion = suggestField(root, path, unknown);
      const meant = suggestion === null ? '' : `; did you mean ${suggestion}?`;
      return `${[...path, shorten(unknown)].join('.')} is not a field of the request${meant}`;
    }
    case 'required':
      return `${[...path, String(error.params['missingProperty'])].join('.')} is required`;
    case 'maxProperties':
    case 'minProperties':
      if (path.length > 0) return `${field} must be ${describeSchema(error.parentSchema ?? {})}`;
      // At the root, only schemas of updates have minProperties.
      return `the body must contain at least one of ${Object.keys(root.properties ?? {}).join(', ')}`;
    default: {
      const rule = describeSchema(error.parentSchema ?? {});
      if (error.propertyName !== undefined)
        return `${field}: the name ${describeValue(error.propertyName)} must be ${rule}`;
      if (path.length === 0) return `the body must be a JSON object, not ${describeValue(error.data)}`;
      const given = isSecretField(root, path) ? describeKind(error.data) : describeValue(error.data);
      return `${field} must be ${rule}, not ${given}`;
    }
  }
}

/**
 * Reduces several errors about one value to the one that contains the whole rule. For failed alternatives (`anyOf`), this is the error of
 * the `anyOf`. If one alternative has the right type but contains an error, it is that error instead.
 */
function relevant(errors: readonly SchemaError[]): SchemaError[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  const isInside = (union: SchemaError) => (error: SchemaError) =>
    error.instancePath.startsWith(`${union.instancePath}/`) ||
    (error.instancePath === union.instancePath && isAboutFields(error));
  const dropped = new Set<SchemaError>();
  for (const union of unions) {
    const inside = errors.some(isInside(union));
    if (inside) dropped.add(union);
    for (const error of errors) {
      if (error.instancePath === union.instancePath && error !== union && !isAboutFields(error)) dropped.add(error);
    }
  }
  const seen = new Set<string>();
  return errors.filter((error) => {
    if (dropped.has(error)) return false;
    if (isAboutFields(error)) return true;
    const first = !seen.has(error.instancePath);
    seen.add(error.instancePath);
    return first;
  });
}

const isAboutFields = ({ keyword }: SchemaError) => keyword === 'additionalProperties' || keyword === 'required';

/** Shortens and escapes the name of a field for a message; clients can send names of thousands of characters. */
function shorten(name: string): string {
  const short = name.length <= 60 ? name : `${name.slice(0, 57)}…`;
  return /^[\w$.-]+$/.test(short) ? short : JSON.stringify(short);
}

/**
 * Describes a value for the end of a sentence: `"abc"`, `101`, "an object", "a string of 3000 characters".
 */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value !== null && typeof value === 'object') return 'an object';
  if (typeof value !== 'string') return String(value);
  if (value.length <= 60) return JSON.stringify(value);
  if (value.length > maxCountedUnits) return `a string of more than ${maxCountedUnits / 2} characters`;
  return `a string of ${countCharacters(value)} characters`;
}

/** Describes a value for the end of a sentence by its type, without disclosing it. */
function describeKind(value: unknown): string {
  if (typeof value === 'object') return value === null ? 'null' : describeValue(value);
  return typeof value === 'string' ? `a string of ${value.length} characters` : `a ${typeof value}`;
}

/** Maximum length, in UTF-16 units, of strings whose characters are counted. It is twice the maximum length of the longest field. */
const maxCountedUnits = 4_194_304;

/** Options with another name in Puppeteer and Playwright that the search below would not find. */
const peerNames: ReadonlyMap<string, string> = new Map([['pdf.format', 'pdf.paper']]);

/**
 * Returns the field that an unknown one probably means, as a path from the root (`viewport.width`), or null. Siblings are preferred, in
 * this order: the same letters, a typo, one name contains the other. Fields with the same name elsewhere come last.
 *
 * @param parent path of the object that contains the unknown field; [] for the root
 */
export function suggestField(root: JsonSchema, parent: readonly string[], unknown: string): string | null {
  const name = plain(unknown);
  if (name === '' || name.length > 40) return null;
  const ofPeer = peerNames.get([...parent, unknown].join('.'));
  if (ofPeer !== undefined) return ofPeer;
  const siblings = Object.keys(fieldsOf(fieldAt(root, parent, true)));
  const sibling =
    siblings.find((field) => plain(field) === name) ?? closest(siblings, name) ?? siblings.find(isContained(name));
  if (sibling !== undefined) return [...parent, sibling].join('.');
  const elsewhere = allFields(root, []).find((path) => plain(path.at(-1) ?? '') === name);
  return elsewhere?.join('.') ?? null;
}

function closest(fields: readonly string[], name: string): string | undefined {
  const limit = name.length < 4 ? 1 : maxDistance;
  const ranked = fields
    .map((field) => ({ field, distance: distanceOf(plain(field), name) }))
    .filter(({ field, distance }) => distance <= limit && distance < field.length - 1)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0]?.field;
}

function allFields(schema: JsonSchema, path: readonly string[]): readonly (readonly string[])[] {
  return Object.entries(fieldsOf(schema)).flatMap(([name, child]) => [
    [...path, name],
    ...allFields(child, [...path, name]),
  ]);
}
