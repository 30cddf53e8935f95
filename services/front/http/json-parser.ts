import { ServiceError } from '@webcapture/shared/errors/service-error.ts';

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
