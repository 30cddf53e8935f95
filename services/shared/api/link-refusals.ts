/**
 * Returns the options of a request that are not allowed in a link. The request may be invalid.
 *
 * @param refused the dotted paths of all options that are not allowed in links
 */
export const optionsWithoutLink = (request: object, refused: Iterable<string>): readonly string[] =>
  [...refused].filter((name) => isGiven(request, name.split('.')));

/** Returns whether an object has a value at a path. In a list, any item may have the value. */
function isGiven(value: unknown, path: readonly string[]): boolean {
  const [field, ...rest] = path;
  if (field === undefined) return true;
  if (Array.isArray(value)) return value.some((item) => isGiven(item, path));
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, field) &&
    isGiven(Reflect.get(value, field), rest)
  );
}
