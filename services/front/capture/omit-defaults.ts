import { isDeepStrictEqual } from 'node:util';
import { type CaptureRequest, captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { isObject } from '../validation/is-object.ts';

/**
 * Returns a valid request without optional values that are equal to their default. A request with such a value is then equal to one
 * without it: for the cache, for an Idempotency-Key, and for the renderer.
 */
export const omitDefaults = (request: CaptureRequest): CaptureRequest =>
  omitIn(captureRequestSchema as object, request) as CaptureRequest;

function omitIn({ properties = {}, required = [] }: JsonSchema, value: object): object {
  const kept = Object.entries(value).flatMap(([name, child]) => {
    const schema = properties[name] ?? {};
    const rest: unknown = isObject(child) ? omitIn(schema, child) : child;
    const isDefault = !required.includes(name) && isDeepStrictEqual(rest, schema.default);
    return isDefault ? [] : [[name, rest] as const];
  });
  return Object.fromEntries(kept);
}
