/**
 * A schema as a client has to keep it. A field with a default may be left out, which `required` does not show: to the validator it is
 * there, filled in before it looks.
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
