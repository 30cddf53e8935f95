import type { CaptureRecord } from '@webcapture/shared/contract/capture-record.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FileStore } from '@webcapture/shared/storage/file-store.ts';
import { expireCapture, type ExpiryDeps } from '../tasks/expire-capture.ts';
import { RecordFinder } from './record-finder.ts';
import type { PassDeps } from './run-pass.ts';

/** How a pass goes through the files. */
export interface Stride {
  /** Files looked at in one go: one request to the store, some to NATS. */
  readonly pageSize: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A bucket lists a thousand in a request, and the name that comes after a page is one of them. */
export const longStride: Stride = Object.freeze({ pageSize: 999, now: Date.now });

/** What one pass works with. */
export function passDeps(
  parts: ExpiryDeps & { readonly session: NatsSession; readonly store: FileStore },
  stride: Stride = longStride,
): PassDeps {
  return {
    store: parts.store,
    finder: new RecordFinder(parts.session),
    // As the task would have done that got lost.
    endCapture: (record: CaptureRecord) => expireCapture(record, parts),
    ...stride,
  };
}
