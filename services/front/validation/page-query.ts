import { pageQuerySchema } from '@webcapture/shared/contract/page.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { explainErrors } from './explain-errors.ts';

/** What a route needs that answers a list in parts: in a query string everything is text, and nothing is coerced. */
export const pageQuery = {
  schemaErrorFormatter: (errors: readonly object[]) =>
    new ServiceError('VALIDATION_ERROR', explainErrors(errors, pageQuerySchema)),
  preValidation: async (request: { query: unknown }) => {
    const query = request.query as Record<string, unknown>;
    const { limit } = query;
    if (typeof limit === 'string' && /^\d{1,9}$/.test(limit)) query['limit'] = Number(limit);
  },
};
