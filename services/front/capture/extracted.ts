import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { statusOf } from '@webcapture/shared/captures/view.ts';
import { hasExtractedFile, wantsExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { readExtracted } from '@webcapture/shared/files/read-extracted.ts';
import type { FileStore } from '@webcapture/shared/files/file-store.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import { ReadCache } from '../read-cache.ts';
import type { CaptureAnswer } from './answer.ts';
import { findState, type ReadStateDeps } from './capture-state.ts';

export interface ExtractedDeps {
  readonly store: FileStore;
  /** Unix milliseconds by the server's clock. */
  readonly now: () => number;
  readonly log: Logger;
}

const readTimeoutMs = 10_000;

/** Maximum number of concurrent reads, because parts are up to 12 MiB as JSON and reading them is free for clients. */
const maxReads = 4;

/** Concurrent requests for the same file share a read. */
const reads = new ReadCache<Extracted>();
const semaphore = new Semaphore(maxReads);

/**
 * Returns the extracted parts of a page. A part that was not requested is absent; a part that the page does not have is null. If the parts
 * cannot be read, logs the error and returns null, so that the rest of the response is still sent.
 */
export async function extractedOf(
  record: CaptureRecord,
  { store, now, log }: ExtractedDeps,
): Promise<{ readonly extracted?: Extracted | null }> {
  const { uuid, fileName, options, outcome } = record;
  if (!wantsExtracted(options) || outcome === undefined) return {};
  const isMissing = hasExtractedFile(options) && outcome.extracted === undefined;
  if (isMissing || statusOf(record, now()) !== 'completed') return { extracted: null };
  try {
    const read = () => readExtracted(store, { fileName, format: options.format }, { deadline: now() + readTimeoutMs });
    return { extracted: await reads.get(fileName, () => semaphore.run(read)) };
  } catch (error) {
    log.warn({ err: error, uuid }, 'extracted parts of a page could not be read');
    return { extracted: null };
  }
}

/**
 * Adds the extracted parts to an answer. They are not stored with the answer of an Idempotency-Key, because they are large and stored
 * already.
 */
export async function withExtracted(
  answer: CaptureAnswer,
  account: string,
  deps: ExtractedDeps & ReadStateDeps,
): Promise<CaptureAnswer> {
  const { uuid, data } = answer;
  if (data === null || !('report' in data)) return answer;
  const record = answer.record ?? (await findState(deps, account, uuid));
  return record === null ? answer : { ...answer, data: { ...data, ...(await extractedOf(record, deps)) } };
}
