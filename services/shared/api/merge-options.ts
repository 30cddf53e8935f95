/**
 * Merges the options of a request into shared ones. Objects are merged field by field; other values are replaced. A key `__proto__` stays a
 * plain property, so that the validation refuses it.
 */
export function mergeOptions(below: Record<string, unknown>, above: Record<string, unknown>): Record<string, unknown> {
  const merged = new Map(Object.entries(below));
  for (const [name, value] of Object.entries(above)) {
    const former = merged.get(name);
    merged.set(name, isObject(former) && isObject(value) ? mergeOptions(former, value) : value);
  }
  return Object.fromEntries(merged);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
