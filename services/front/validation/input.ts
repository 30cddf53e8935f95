import { pageQuerySchema } from '@webcapture/shared/api/capture-list.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { TSchema } from 'typebox';
import { explainErrors } from './explain-errors.ts';
import { scanJson } from './scan-json.ts';

/** Maximum size of a body on endpoints that take no html. */
const maxBodyBytes = 16 * 1024;

/**
 * Returns the route options for a small JSON body: its maximum size, and our own error messages. With `optional`, a
 * missing body is an empty object.
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

/** Returns the route options with which errors in a query have the messages of this API. */
export const queryOf = (schema: object) => ({
  schemaErrorFormatter: (errors: readonly object[]) =>
    new ServiceError('VALIDATION_ERROR', explainErrors(errors, schema)),
});

/**
 * Returns the route options for a query with integers: in a query string every value is a string, and the validator does
 * not coerce. `schema`: of the query.
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
 * Parses a JSON body after {@link scanJson}. A key `__proto__` becomes a plain property, which the schemas refuse like any other unknown
 * field; objects are not merged before that.
 *
 * @throws ServiceError VALIDATION_ERROR with the problem and its position
 */
export function parseJson(bytes: Buffer, maxValues?: number): unknown {
  if (bytes.length === 0) throw new ServiceError('VALIDATION_ERROR', 'the body is empty: send a JSON object');
  scanJson(bytes, maxValues);
  const text = bytes.toString();
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch (error) {
    // The message omits the text of the body, which may contain a secret.
    const where = error instanceof SyntaxError ? `: ${error.message.replace(/, (?:\.\.\.)?"[\s\S]*$/, '')}` : '';
    throw new ServiceError('VALIDATION_ERROR', `the body is not valid JSON${where}`);
  }
}
