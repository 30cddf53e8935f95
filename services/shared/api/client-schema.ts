/**
 * Returns a schema as clients see it: fields with a default are not required. The validator requires them, because it fills in defaults
 * first.
 */
export function clientSchema<T>(value: T): T {
  if (Array.isArray(value)) return value.map(clientSchema) as T;
  if (value === null || typeof value !== 'object') return value;
  const copy: Record<string, unknown> = {};
  for (const [key, child] of Object.entries(value)) copy[key] = clientSchema(child);
  const { required, properties } = value as { required?: unknown; properties?: Record<string, object> };
  if (Array.isArray(required) && properties !== undefined) {
    const needed = required.filter((name: string) => !Object.hasOwn(properties[name] ?? {}, 'default'));
    if (needed.length > 0) copy['required'] = needed;
    else delete copy['required'];
  }
  return copy as T;
}
