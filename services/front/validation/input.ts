import { pageQuerySchema } from '@webcapture/shared/api/capture-list.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { TSchema } from 'typebox';
import { explainErrors } from './explain-errors.ts';
import { scanJson } from './scan-json.ts';

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
      if (options.optional === true && request.body === undefined) request.body = {};
    },
  };
}

/** What a route needs that takes a query: errors in our words. */
export const queryOf = (schema: object) => ({
  schemaErrorFormatter: (errors: readonly object[]) =>
    new ServiceError('VALIDATION_ERROR', explainErrors(errors, schema)),
});

/**
 * What a route needs that takes integers in its query: in a query string everything is text, and nothing is coerced.
 * `schema`: of its query.
 */
export const pageQueryOf = (schema: { readonly properties: object }) => ({
  ...queryOf(schema),
  preValidation: async (request: { query: unknown }) => {
    const query = request.query as Record<string, unknown>;
    for (const [name, property] of Object.entries(schema.properties) as [string, { type?: string }][]) {
      const value = query[name];
      if (property.type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value))
        query[name] = Number(value);
    }
  },
});

export const pageQuery = pageQueryOf(pageQuerySchema);

const byteOrderMark = '\uFEFF';

/**
 * A JSON body, after a scan for what is dear to parse. A key `__proto__` becomes a plain property of that name, which the schemas refuse like any other field
 * that they do not know: objects are never merged before that.
 *
 * @throws ServiceError VALIDATION_ERROR that says what is wrong and where
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new ServiceError('VALIDATION_ERROR', 'the body is empty: send a JSON object');
  scanJson(bytes);
  const text = bytes.toString();
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch (error) {
    // Omits the text of the body, which may contain a secret.
    const where = error instanceof SyntaxError ? `: ${error.message.replace(/, (?:\.\.\.)?"[\s\S]*$/, '')}` : '';
    throw new ServiceError('VALIDATION_ERROR', `the body is not valid JSON${where}`);
  }
}
