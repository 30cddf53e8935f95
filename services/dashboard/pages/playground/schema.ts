import { Validator, type Schema } from '@cfworker/json-schema';
import { describeSchema, fieldAt, type JsonSchema, pathOf } from '@webcapture/shared/api/describe-schema.ts';

/** A request body that may be incomplete. */
export type Body = Readonly<Record<string, unknown>>;

/** Path to a value in the body, such as ['viewport', 'width'] or ['click', 0]. */
export type Path = readonly (string | number)[];

export const pathKey = (path: Path) => path.join('.');

/** Options under a heading, as the OpenAPI document lists them. */
export interface OptionGroup {
  readonly title: string;
  readonly options: readonly string[];
}

export interface Group {
  readonly title: string;
  readonly fields: readonly (readonly [name: string, schema: JsonSchema])[];
}

/** Returns the fields of the form by group. */
export function groupFields({ properties = {} }: JsonSchema, groups: readonly OptionGroup[]): readonly Group[] {
  return groups.map(({ title, options }) => ({
    title,
    fields: options.map((name) => [name, properties[name] ?? {}] as const),
  }));
}

/** Returns the label of a field: `deviceScaleFactor` becomes “Device scale factor”, and `isFullPage` becomes “Full page”. */
export function labelOf(name: string): string {
  const words = name
    .replace(/^is(?=[A-Z])/, '')
    .replaceAll(/[A-Z]+/g, (letters) => ` ${letters.toLowerCase()}`)
    .trim()
    .replace('java script', 'JavaScript')
    .replace(/\b(css|html|cdn|ttl|pdf|url)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Whether the search matches the name, label or description of a field, at any depth. */
export function isFound(name: string, schema: JsonSchema, search: string): boolean {
  const text = `${name} ${labelOf(name)} ${schema.description ?? ''} ${(schema.enum ?? []).join(' ')}`.toLowerCase();
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.every((word) => text.includes(word))) return true;
  return Object.entries(schema.properties ?? schema.items?.properties ?? {}).some(([child, childSchema]) =>
    isFound(child, childSchema, search),
  );
}

/** Returns a body without the fields that its schema marks writeOnly, at any depth. */
export function withoutSecrets(fields: Body, { properties = {} }: JsonSchema): Body {
  const kept = Object.entries(fields).filter(([name]) => properties[name]?.writeOnly !== true);
  return Object.fromEntries(kept.map(([name, value]) => [name, publicPart(value, properties[name])]));
}

function publicPart(value: unknown, { properties, items }: JsonSchema = {}): unknown {
  if (Array.isArray(value)) return value.map((item) => publicPart(item, items));
  return properties !== undefined && isObject(value) ? withoutSecrets(value, { properties }) : value;
}

const isObject = (value: unknown): value is Body => typeof value === 'object' && value !== null;

/** Returns the object that a text contains as JSON; undefined for any other text. */
export function parseObject(text: string): Body | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Validates a body with the service's schema, and returns the messages by path key. */
export function validatorOf(schema: JsonSchema): (body: Body) => ReadonlyMap<string, string> {
  // The validator interprets the schema, because the content security policy forbids code that is generated from text.
  const validator = new Validator(schema as Schema, '2020-12', false);
  return (body) => {
    const messages = new Map<string, string>();
    for (const { keyword, keywordLocation, instanceLocation } of validator.validate(body).errors) {
      // An error of a part is reported at the part. For alternatives, it is unknown which one the user intended.
      if (['properties', 'items', 'additionalProperties', 'false'].includes(keyword)) continue;
      if (keywordLocation.includes('/anyOf/')) continue;
      const path = pathOf(decodeURIComponent(instanceLocation));
      const at = fieldAt(schema, path, true);
      if (at === undefined) continue;
      if (keyword === 'required') {
        const given = valueAt(body, path) as Body;
        for (const name of at.required ?? []) {
          if (!Object.hasOwn(given, name)) messages.set(pathKey([...path, name]), 'is required');
        }
      } else if (!messages.has(pathKey(path))) {
        messages.set(pathKey(path), `must be ${describeSchema(at)}`);
      }
    }
    return messages;
  };
}

export function valueAt(body: unknown, path: Path): unknown {
  let at = body;
  for (const part of path) at = at === null || typeof at !== 'object' ? undefined : (at as Body)[part];
  return at;
}

/**
 * Returns a copy of the body with a value at a path. If the value is undefined, the field is removed, and so are objects that become empty,
 * because untouched fields are not sent.
 */
export function withValue(body: Body, path: Path, value: unknown): Body {
  return (changed(body, path, value) as Body | undefined) ?? {};
}

function changed(container: unknown, [part, ...rest]: Path, value: unknown): unknown {
  if (part === undefined) return value;
  const child = changed(valueAt(container, [part]), rest, value);
  if (Array.isArray(container)) return container.map((item: unknown, index) => (index === part ? child : item));
  const { [part]: _former, ...others } = (container ?? {}) as Record<string | number, unknown>;
  if (child === undefined) return Object.keys(others).length === 0 ? undefined : others;
  // The value is assigned in place, so that the fields keep their order while the user types.
  return { ...((container ?? {}) as object), [part]: child };
}
