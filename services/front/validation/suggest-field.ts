import type { JsonSchema } from './describe-schema.ts';

/** Changes of one letter that still count as a slip of the pen. */
const maxDistance = 2;

/**
 * The field that was probably meant by an unknown one, as a path from the root (`viewport.width`), or null. Siblings
 * come first: by the same letters, by a slip of the pen, by one name containing the other; then fields of that very
 * name elsewhere in the request.
 *
 * @param parent path of the object that the unknown field stands in; [] for the root
 */
export function suggestField(root: JsonSchema, parent: readonly string[], unknown: string): string | null {
  const name = plain(unknown);
  if (name === '' || name.length > 40) return null;
  const siblings = Object.keys(schemaAt(root, parent)?.properties ?? {});
  const sibling =
    siblings.find((field) => plain(field) === name) ?? closest(siblings, name) ?? siblings.find(isContained(name));
  if (sibling !== undefined) return [...parent, sibling].join('.');
  const elsewhere = allFields(root, []).find((path) => plain(path.at(-1) ?? '') === name);
  return elsewhere?.join('.') ?? null;
}

/** Letters and digits only, in lower case: `full_page`, `full-page` and `fullPage` are the same. */
const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

function closest(fields: readonly string[], name: string): string | undefined {
  const limit = name.length < 4 ? 1 : maxDistance;
  const ranked = fields
    .map((field) => ({ field, distance: distanceOf(plain(field), name) }))
    .filter(({ field, distance }) => distance <= limit && distance < field.length - 1)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0]?.field;
}

/** `fullPage` for `isFullPage`, `waitUntilEvent` for `waitUntil`. */
const isContained = (name: string) => (field: string) =>
  name.length >= 4 && field.length >= 4 && (plain(field).includes(name) || name.includes(plain(field)));

function schemaAt(root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let schema: JsonSchema | undefined = root;
  for (const step of path) schema = objectOf(schema)?.properties?.[step];
  return objectOf(schema);
}

/** Of alternatives, the one that is an object. */
function objectOf(schema: JsonSchema | undefined): JsonSchema | undefined {
  return schema?.anyOf?.find(({ type }) => type === 'object') ?? schema;
}

function allFields(schema: JsonSchema, path: readonly string[]): readonly (readonly string[])[] {
  return Object.entries(objectOf(schema)?.properties ?? {}).flatMap(([name, child]) => [
    [...path, name],
    ...allFields(child, [...path, name]),
  ]);
}

/** Levenshtein distance: letters to insert, remove or replace. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
