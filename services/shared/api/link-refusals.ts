/**
 * Returns the options of a request, which may be invalid, that a link cannot have.
 *
 * @param refused all such options, by dotted paths
 */
export const optionsWithoutLink = (request: object, refused: Iterable<string>): readonly string[] =>
  [...refused].filter((name) => isGiven(request, name.split('.')));

/** Whether an object has a value at a path, which may lead through the items of lists. */
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
