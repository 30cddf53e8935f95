import { Counter, Histogram, type Registry } from 'prom-client';
import type { FileStore, FileUploader } from './file-store.ts';
import { type ObjectFailure, type ObjectOperation, objectOperations } from './object-error.ts';
import { UploadRejectedError, type UploadRejection, uploadRejections } from './upload.ts';

/** Wraps a store to measure its calls. */
export function measuredStore(store: FileStore, metrics: StoreMetrics): FileStore {
  return {
    readsUploads: store.readsUploads,
    create: (...file) => measure(metrics, 'create', () => store.create(...file)),
    accept: (...upload) => measure(metrics, 'accept', () => store.accept(...upload)),
    discard: (...upload) => measure(metrics, 'discard', () => store.discard(...upload)),
    stat: (...name) => measure(metrics, 'stat', () => store.stat(...name)),
    async *read(...file) {
      const parts = store.read(...file)[Symbol.asyncIterator]();
      try {
        // Only the first part is measured, because the rest is read at the pace of the reader.
        const first = await measure(metrics, 'read', () => parts.next());
        for (let part = first; part.done !== true; part = await parts.next()) yield part.value;
      } finally {
        await parts.return?.();
      }
    },
    copy: (...copy) => measure(metrics, 'copy', () => store.copy(...copy)),
    remove: (...name) => measure(metrics, 'remove', () => store.remove(...name)),
  };
}

/** Wraps an uploader to measure its calls. */
export function measuredUploader(uploader: FileUploader, metrics: StoreMetrics): FileUploader {
  return {
    upload(file) {
      const { sent, stored } = uploader.upload(file);
      const measured = measure(metrics, 'upload', () => stored);
      measured.catch(() => undefined);
      return { sent, stored: measured };
    },
  };
}

async function measure<T>(metrics: StoreMetrics, operation: StoreOperation, call: () => Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    const result = await call();
    metrics.called(operation, 'ok', performance.now() - start);
    return result;
  } catch (error) {
    // If an upload is rejected, the store has worked.
    const isRejected = error instanceof UploadRejectedError;
    if (isRejected) metrics.rejected(error.reason);
    metrics.called(operation, isRejected ? 'ok' : 'failed', performance.now() - start);
    throw error;
  }
}

const storeOperations = ['upload', 'create', 'accept', 'discard', 'stat', 'read', 'copy', 'remove'] as const;
type StoreOperation = (typeof storeOperations)[number];

export interface StoreMetrics {
  called(operation: StoreOperation, outcome: 'ok' | 'failed', ms: number): void;
  /** Counts an upload of a renderer that was rejected. */
  rejected(reason: UploadRejection): void;
  /** Counts a retried bucket request. */
  retried(operation: ObjectOperation, failure: ObjectFailure): void;
}

/** Creates the metrics of the file store for each service. All labels come from closed sets. */
export function createStoreMetrics(registry: Registry): StoreMetrics {
  const registers = [registry];
  const seconds = new Histogram({
    name: 'webcapture_store_seconds',
    help: 'Duration of file store operations, including retries. The operation read ends with the first bytes of the file.',
    labelNames: ['operation', 'outcome'],
    buckets: [0.002, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30],
    registers,
  });
  // The series start at 0, so that a rate includes the first failure.
  for (const operation of storeOperations) seconds.zero({ operation, outcome: 'failed' });
  const retries = new Counter({
    name: 'webcapture_store_retries_total',
    help: 'Retried requests to the bucket, by failure: status, connection, checksum or credentials.',
    labelNames: ['operation', 'failure'],
    registers,
  });
  for (const operation of objectOperations) retries.inc({ operation, failure: 'status' }, 0);
  const rejections = new Counter({
    name: 'webcapture_store_rejected_uploads_total',
    help: 'Uploads of renderers that were rejected and did not become files, by reason: missing, wrong_type, wrong_size, foreign (not the object of the job) or expired (not the expiry time of the job).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of uploadRejections) rejections.inc({ reason }, 0);
  return {
    rejected: (reason) => rejections.inc({ reason }),
    called: (operation, outcome, ms) => seconds.observe({ operation, outcome }, ms / 1000),
    retried: (operation, failure) => retries.inc({ operation, failure }),
  };
}
