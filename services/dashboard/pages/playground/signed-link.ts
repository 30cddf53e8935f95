import type { Body } from './schema.ts';

/** Returns the options of a request that a link cannot have. @param refused all such options, by dotted paths */
export function optionsWithoutLink(request: Body, refused: readonly string[]): readonly string[] {
  return refused.filter((name) => isGiven(request, name.split('.')));
}

/** Whether an object has a value at a path. */
function isGiven(value: unknown, [field, ...rest]: readonly string[]): boolean {
  if (field === undefined) return true;
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, field) &&
    isGiven(Reflect.get(value, field), rest)
  );
}
