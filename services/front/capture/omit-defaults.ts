import { isDeepStrictEqual } from 'node:util';
import { captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { isObject } from '../validation/is-object.ts';

/**
 * Returns a request without its optional fields that are equal to their default. The cache, an Idempotency-Key and the renderer then treat
 * a request that states a default like one that omits it.
 *
 * @param options `isForDisplay`: also omits required fields that are equal to their default, secrets, and fields that the schema does not
 * have
 */
export function omitDefaults<T extends object>(
  value: T,
  options: { readonly isForDisplay?: boolean } = {},
  { properties = {}, required = [] }: JsonSchema = captureRequestSchema as object,
): T {
  const { isForDisplay = false } = options;
  const kept = Object.entries(value).flatMap(([name, child]): [string, unknown][] => {
    const field = properties[name];
    if (isForDisplay && (field === undefined || field.writeOnly === true)) return [];
    const isInside = isObject(child) && field?.properties !== undefined;
    const rest: unknown = isInside ? omitDefaults(child, options, field) : child;
    const isRequired = !isForDisplay && required.includes(name);
    return !isRequired && (rest === undefined || isDeepStrictEqual(rest, field?.default)) ? [] : [[name, rest]];
  });
  return Object.fromEntries(kept) as T;
}
