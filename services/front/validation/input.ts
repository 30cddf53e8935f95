import { pageQuerySchema } from '@webcapture/shared/api/capture-list.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { TSchema } from 'typebox';
import { explainErrors } from './explain-errors.ts';

/** The largest body of an endpoint that takes no html. */
const maxBodyBytes = 16 * 1024;

/**
 * What a route needs that takes a small JSON body: its bounds, and errors in our words. With `optional`, no body at all
 * is an empty object.
 */
export function jsonBody(schema: TSchema, options: { optional?: boolean } = {}) {
  return {
    bodyLimit: maxBodyBytes,
    schemaErrorFormatter: (errors: readonly object[]) =>
      new ServiceError('VALIDATION_ERROR', explainErrors(errors, schema)),
    preValidation: async (request: { body: unknown }) => {
      if (options.optional === true) request.body ??= {};
      limitFields(request.body);
    },
  };
}

/** What a route needs that takes a query: errors in our words. */
export const queryOf = (schema: object) => ({
  schemaErrorFormatter: (errors: readonly object[]) =>
    new ServiceError('VALIDATION_ERROR', explainErrors(errors, schema)),
});

/**
 * What a route needs that answers a list in parts: in a query string everything is text, and nothing is coerced.
 * `schema`: of its query, as far as that knows more than every list does.
 */
export const pageQueryOf = (schema: object) => ({
  ...queryOf(schema),
  preValidation: async (request: { query: unknown }) => {
    const query = request.query as Record<string, unknown>;
    const { limit } = query;
    if (typeof limit === 'string' && /^\d{1,9}$/.test(limit)) query['limit'] = Number(limit);
  },
});

export const pageQuery = pageQueryOf(pageQuerySchema);

/** No valid request has as many fields in one object. */
const maxFields = 100;

/** The schema looks no deeper into an object. */
const maxDepth = 4;

/**
 * Refuses a body with absurdly many fields before the schema makes an error out of each of them.
 *
 * @throws ServiceError VALIDATION_ERROR
 */
export function limitFields(body: unknown, depth = 1): void {
  if (body === null || typeof body !== 'object' || Array.isArray(body) || depth > maxDepth) return;
  let count = 0;
  for (const key in body) {
    count++;
    if (count > maxFields) {
      throw new ServiceError('VALIDATION_ERROR', `the body has an object of more than ${maxFields} fields`);
    }
    limitFields((body as Record<string, unknown>)[key], depth + 1);
  }
}

const byteOrderMark = '\uFEFF';

/**
 * A JSON body. A key `__proto__` becomes a plain property of that name, which the schemas refuse like any other field
 * that they do not know: objects are never merged before that.
 *
 * @throws ServiceError VALIDATION_ERROR that says what is wrong and where
 */
export function parseJson(text: string): unknown {
  if (text === '') throw new ServiceError('VALIDATION_ERROR', 'the body is empty: send a JSON object');
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch (error) {
    const where = error instanceof SyntaxError ? `: ${error.message}` : '';
    throw new ServiceError('VALIDATION_ERROR', `the body is not valid JSON${where}`);
  }
}
