import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { TSchema } from 'typebox';
import { explainErrors } from './explain-errors.ts';
import { limitFields } from './limit-fields.ts';

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
