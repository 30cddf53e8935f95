import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import type { MergeRequest } from '@webcapture/shared/api/merge-request.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { statusOf } from '@webcapture/shared/captures/view.ts';
import type { MergedDocument } from '@webcapture/shared/documents/merge-documents.ts';
import { type FileStore, retryIfReplaced } from '@webcapture/shared/files/file-store.ts';
import { delay } from '@webcapture/shared/runtime/deadline.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { Semaphore } from '@webcapture/shared/runtime/semaphore.ts';
import { RetryLaterError } from '../../admission.ts';
import { countCapture, type CaptureCallDeps } from '../../api/capture.ts';
import type { Caller } from '../../auth/authenticator.ts';
import { type ReadStateDeps, readState } from '../../capture/capture-state.ts';
import { RequestFacts } from '../../http/request-facts.ts';
import { brokenMergeRules } from './merge-rules.ts';
import { assertBytes, assertPages, type Merges } from './merges.ts';

export interface MergeCapturesDeps extends ReadStateDeps, CaptureCallDeps {
  readonly store: FileStore;
  readonly merges: Merges;
}

export interface MergeCall {
  readonly body: MergeRequest;
  readonly caller: Caller;
  readonly clientGone: AbortSignal;
}

export interface MergeAnswer extends MergedDocument {
  /** UUIDs of the captures, in the order of the documents. */
  readonly uuids: readonly string[];
}

/** Maximum number of concurrent captures of a merge. */
const maxConcurrent = 4;

/** Time for which a request of a merge waits for the rate and the slots of its account, in milliseconds. */
const limitWaitMs = 60_000;

/**
 * Merges captures of the account and new captures. Returns null if the client has disconnected.
 *
 * @throws ServiceError the refusal of a step, or the failure of a capture, with the index of its document
 */
export async function mergeCaptures(
  call: MergeCall,
  facts: RequestFacts,
  deps: MergeCapturesDeps,
): Promise<MergeAnswer | null> {
  const { body, caller, clientGone } = call;
  const { documents, pageLabels, metadata, encryption } = body;
  const account = caller.account.id;

  // Validate.
  const broken = [...brokenMergeRules(body)];
  if (broken.length > 0) throw new ServiceError('VALIDATION_ERROR', broken.join('; '));
  for (const [index, { request }] of documents.entries()) {
    if (request !== undefined) await ofDocument(`${index}.request`, () => deps.pipeline.check(request, caller.account));
  }

  // Admit.
  const end = deps.merges.begin(account);
  try {
    // Look up the captures of the account.
    const reads = new Semaphore(maxConcurrent);
    const known = await Promise.all(
      documents.map(async ({ capture }, index) => {
        if (capture === undefined) return undefined;
        return reads.run(() => ofDocument(`${index}.capture`, () => findCapture(account, capture, deps)));
      }),
    );
    assertSize(known);

    // Capture the requests.
    const records = await facts.wait.during(captureRequests(call, known, facts, deps));
    if (records === null) return null;
    assertSize(records);

    // Merge.
    const parts = records.map((record, index) => ({
      title: documents[index]?.title ?? titleOf(record, index),
      fileName: record.fileName,
    }));
    const options = { pageLabels, ...(metadata && { metadata }), ...(encryption && { encryption }) };
    const merged = await retryIfReplaced(() => deps.merges.merge(parts, options, { account, clientGone }));
    return { ...merged, uuids: records.map(({ uuid }) => uuid) };
  } catch (error) {
    if (clientGone.aborted) return null;
    throw error;
  } finally {
    end();
  }
}

/** Returns a capture whose file can be merged. Throws a ServiceError. */
async function findCapture(account: string, uuid: string, deps: MergeCapturesDeps): Promise<CaptureRecord> {
  const record = await readState(deps, account, uuid);
  const { options, fileName } = record;
  const status = statusOf(record, deps.now());
  const refused = (reason: string) => new ServiceError('VALIDATION_ERROR', `The capture cannot be merged: ${reason}.`);
  if (options.format !== 'pdf') throw refused(`its format is ${options.format}, not pdf`);
  if (status !== 'completed') throw refused(`its status is ${status}, not completed`);
  if (options.secrets?.pdfEncryption === true) throw refused('it is encrypted');
  if ((await deps.store.stat(fileName)) === null) throw refused('its file no longer exists');
  return record;
}

/** @throws ServiceError PAGE_TOO_LARGE */
function assertSize(records: readonly (CaptureRecord | undefined)[]): void {
  const sum = (numberOf: (outcome: NonNullable<CaptureRecord['outcome']>) => number) =>
    records.reduce((total, record) => total + (record?.outcome === undefined ? 0 : numberOf(record.outcome)), 0);
  assertBytes(sum(({ fileSizeBytes }) => fileSizeBytes));
  assertPages(sum(({ pages = 1 }) => pages));
}

/** Returns the title of the page; its URL if it has no title. */
function titleOf({ url, outcome }: CaptureRecord, index: number): string {
  const title = outcome?.report.title.trim() ?? '';
  if (title !== '') return title;
  return url === 'about:blank' ? `Document ${index + 1}` : url;
}

/**
 * Captures the requests in order, a few of them concurrently. When one fails, the captures that still wait for a renderer are cancelled.
 *
 * @returns the records of all documents; null if the client has disconnected
 */
async function captureRequests(
  { body, caller, clientGone }: MergeCall,
  known: readonly (CaptureRecord | undefined)[],
  facts: RequestFacts,
  deps: MergeCapturesDeps,
): Promise<CaptureRecord[] | null> {
  const turns = new Semaphore(Math.max(1, Math.min(maxConcurrent, caller.account.maxInFlight)));
  const failed = new AbortController();
  const stop = AbortSignal.any([clientGone, failed.signal]);
  const captured = body.documents.map(async ({ request }, index) => {
    if (request === undefined) return known[index];
    return turns.run(async () => {
      try {
        return await ofDocument(`${index}`, () => captureRequest(request, { caller, facts, stop }, deps));
      } catch (error) {
        // This call must precede the next request. Only the first failure has an effect.
        failed.abort(error);
        return undefined;
      }
    });
  });
  const records = await Promise.all(captured);
  if (clientGone.aborted) return null;
  failed.signal.throwIfAborted();
  return records.filter((record) => record !== undefined);
}

/** Returns the record of a completed capture; undefined if `stop` has aborted. */
async function captureRequest(
  body: CaptureRequest,
  { caller, facts, stop }: { readonly caller: Caller; readonly facts: RequestFacts; readonly stop: AbortSignal },
  deps: MergeCapturesDeps,
): Promise<CaptureRecord | undefined> {
  if (stop.aborted) return undefined;
  const own = new RequestFacts(facts.address);
  const call = { body, authorization: undefined, caller, idempotencyKeys: [], clientGone: stop };
  const capture = async () => {
    try {
      return await whenAdmitted(() => deps.pipeline.capture(call, own), stop);
    } catch (error) {
      if (own.record !== undefined) facts.record ??= own.record;
      throw error;
    } finally {
      if (own.rateLimit !== undefined) facts.rateLimit = own.rateLimit;
    }
  };
  return countCapture(call, own, deps, capture, (answer) => {
    if (answer !== null && answer.record === undefined)
      throw new TypeError('the response to a capture request has no record');
    return answer?.record;
  });
}

/** Retries while the rate or the slots of the account refuse the capture. */
async function whenAdmitted<T>(capture: () => Promise<T>, stop: AbortSignal): Promise<T> {
  const deadline = performance.now() + limitWaitMs;
  for (;;) {
    try {
      return await capture();
    } catch (error) {
      const isLimit =
        error instanceof RetryLaterError && error.causedBy === 'client' && error.code !== 'REGION_UNAVAILABLE';
      if (!isLimit || performance.now() + 1000 * error.retryAfterSeconds > deadline) throw error;
      await delay(1000 * error.retryAfterSeconds, stop);
      if (stop.aborted) throw error;
    }
  }
}

/** Runs a step for one document. If the step fails, the path of the document is prepended to the message of the error. */
async function ofDocument<T>(path: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof ServiceError) error.message = `documents.${path}: ${error.message}`;
    throw error;
  }
}
