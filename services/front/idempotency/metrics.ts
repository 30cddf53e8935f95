import { Counter, type Registry } from 'prom-client';

/**
 * What became of a request with an Idempotency-Key: the first one, answered as an earlier one, answered as one that it
 * waited for, refused for another body, or begun in the place of one that brought no answer.
 */
export type IdempotencyResult = 'first' | 'replayed' | 'waited' | 'mismatch' | 'taken_over';

const results = [
  'first',
  'replayed',
  'waited',
  'mismatch',
  'taken_over',
] as const satisfies readonly IdempotencyResult[];

/** Counts requests with an Idempotency-Key. */
export function createIdempotencyMetrics(registry: Registry): (result: IdempotencyResult) => void {
  const requests = new Counter({
    name: 'webcapture_front_idempotent_requests_total',
    help: 'Requests with an Idempotency-Key: first, replayed, waited (for one under way), mismatch (another body), taken_over.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of results) requests.inc({ result }, 0);
  return (result) => requests.inc({ result });
}
