import { Counter, Histogram, type Registry } from 'prom-client';
import { type ErrorCode, ServiceError } from '@webcapture/shared/runtime/errors.ts';

const batchResults = ['accepted', 'replayed', 'invalid', 'refused', 'client_gone', 'failed'] as const;
export type BatchResult = (typeof batchResults)[number];

/** Results of zip archives of batches. */
const zipResults = ['sent', 'refused', 'client_gone', 'failed'] as const;
type ZipResult = (typeof zipResults)[number];

export interface BatchMetrics {
  /** Counts a request for a batch. `size` is the number of captures of an accepted batch. */
  batch(result: BatchResult, size?: number): void;
  /** Counts a zip archive. */
  zip(result: ZipResult): void;
}

/** Counts requests for batches. */
export function createBatchMetrics(registry: Registry): BatchMetrics {
  const registers = [registry];
  const batches = new Counter({
    name: 'webcapture_front_batches_total',
    help: 'Requests for batches of authenticated accounts, by result: accepted, replayed (the batch of an earlier request with the same Idempotency-Key), invalid (of a request, or its rules), refused (by a limit of the account, or a full queue), client_gone (the client disconnected before), failed.',
    labelNames: ['result'],
    registers,
  });
  for (const result of batchResults) batches.inc({ result }, 0);
  const captures = new Histogram({
    name: 'webcapture_front_batch_captures',
    help: 'Number of captures of accepted batches.',
    buckets: [1, 10, 50, 100, 250, 500, 1000],
    registers,
  });
  const zips = new Counter({
    name: 'webcapture_front_batch_zips_total',
    help: 'Zip archives of batches, by result: sent, refused (too many at once), client_gone (the client disconnected), failed (a file could not be read to its end).',
    labelNames: ['result'],
    registers,
  });
  for (const result of zipResults) zips.inc({ result }, 0);
  return {
    zip: (result) => zips.inc({ result }),
    batch(result, size) {
      batches.inc({ result });
      if (size !== undefined) captures.observe(size);
    },
  };
}

const refusals: readonly ErrorCode[] = ['QUOTA_EXCEEDED', 'RATE_LIMIT_EXCEEDED', 'QUEUE_FULL', 'REGION_UNAVAILABLE'];

/** Returns the result of a request for a batch that ended with an error. */
export function resultOfError(error: unknown): BatchResult {
  if (!(error instanceof ServiceError)) return 'failed';
  if (error.status === 400) return 'invalid';
  return refusals.includes(error.code) ? 'refused' : 'failed';
}
