import { linkRefusals } from '@webcapture/shared/api/link-refusals.ts';
import type { Body } from './schema.ts';

/** Returns the options of a request that a link cannot have. */
export function optionsWithoutLink(request: Body): readonly string[] {
  return [...linkRefusals.keys()].filter((name) => isGiven(request, name.split('.')));
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
