import { pageQuerySchema } from '@webcapture/shared/contract/page.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { explainErrors } from './explain-errors.ts';

/**
 * What a route needs that answers a list in parts: in a query string everything is text, and nothing is coerced.
 * `schema`: of its query, as far as that knows more than every list does.
 */
export const pageQueryOf = (schema: object) => ({
  schemaErrorFormatter: (errors: readonly object[]) =>
    new ServiceError('VALIDATION_ERROR', explainErrors(errors, schema)),
  preValidation: async (request: { query: unknown }) => {
    const query = request.query as Record<string, unknown>;
    const { limit } = query;
    if (typeof limit === 'string' && /^\d{1,9}$/.test(limit)) query['limit'] = Number(limit);
  },
});

export const pageQuery = pageQueryOf(pageQuerySchema);
