import type { CaptureReport } from '@webcapture/shared/api/capture.ts';
import { extractedType, mimeTypes } from '@webcapture/shared/api/formats.ts';
import { type CaptureRecord, withTimings } from '@webcapture/shared/captures/capture-record.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import { complete, type Transition } from '@webcapture/shared/captures/transitions.ts';
import {
  hasExtractedFile,
  maxJsonBytes,
  maxStoredBytes,
  removableNamesOf,
} from '@webcapture/shared/files/extracted-file.ts';
import { extractedName } from '@webcapture/shared/files/file-name.ts';
import type { ExpectedUpload, FileStore } from '@webcapture/shared/files/file-store.ts';
import { cacheOf } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome, JobResult } from '@webcapture/shared/queue/results.ts';
import type { Ticket } from '@webcapture/shared/queue/tickets.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { ByteQuota } from '../byte-quota.ts';
import type { PictureComparisons } from '../pictures/picture-comparisons.ts';
import { compareWithEarlier, keepEarlierFile } from './earlier-files.ts';
import { acceptDiagnostics } from './settle-diagnostics.ts';
import type { SettlementOutcome } from './settlement-outcomes.ts';

export type Completed = Extract<JobOutcome, { kind: 'completed' }>;
type ExtractedUpload = NonNullable<Completed['extracted']>;

interface SettleFilesDeps {
  readonly store: FileStore;
  readonly comparisons: PictureComparisons;
  readonly byteQuota: ByteQuota;
  readonly secretsKeys?: SecretsKeys | undefined;
  readonly log: Logger;
}

/**
 * Moves the files of a completed result to their final names. Returns the transition that completes the capture, the file, and a function
 * to call after the transition was written, or after writing it has failed.
 *
 * @throws UploadRejectedError if a file does not match the job; ServiceError STORAGE_FAILED
 */
export async function acceptFiles(
  ticket: Ticket,
  found: CaptureRecord,
  { result, outcome }: { readonly result: JobResult; readonly outcome: Completed },
  context: { readonly at: number; readonly deadline: number; readonly wantsBytes?: boolean },
  deps: SettleFilesDeps,
) {
  const { upload, extracted, report, ageMs, pages, ignored } = outcome;
  const capturedAt = Math.round(context.at - ageMs);
  const wantedUntil = ticket.revision === 0 ? capturedAt + found.lifetimeMs : found.expiresAt;
  const asked = {
    account: ticket.account,
    region: ticket.region,
    expiresAt: wantedUntil,
    isRefresh: ticket.revision > 0,
    ...cacheOf(found, ticket.revision),
  };
  const { deadline } = context;
  const picture = { ...asked, name: found.fileName, object: ticket.object };
  const { format } = found.options;
  const mimeType = mimeTypes[format];
  const { wantsBytes = false } = context;
  const limit = format === 'none' ? { maxBytes: maxJsonBytes } : {};
  const expected = { ...picture, ...limit, contentType: mimeType, wantsBytes };
  const kept = ticket.revision === 0 ? undefined : await keepEarlierFile(ticket, found, deadline, deps);
  const { file, bytes } = await deps.store.accept(upload, expected, { deadline });
  const extractedFile = await acceptExtracted(found, extracted, picture, deadline, deps);
  const diagnostics = await acceptDiagnostics(ticket, found, outcome, context, deps);
  const next = { file, originalSize: report.originalSize, ignored };
  const compared = kept && (await compareWithEarlier(ticket, found, kept, next, deps));
  const turn = ticket.revision === 0 ? found : (found.refresh ?? found);
  const shown = {
    region: ticket.region,
    mimeType,
    fileSizeBytes: file.size,
    width: file.width,
    height: file.height,
    ...(pages === undefined ? {} : { pages }),
    capturedAt,
    ...(ignored === undefined || found.persistence?.compare?.ignore === undefined ? {} : { ignored }),
    object: upload.object,
    ...extractedFile,
    report: withQueueMs(report, context.at - result.elapsedMs - turn.acceptedAt),
  };
  const stored = {
    ...(diagnostics === undefined ? {} : { diagnostics }),
    ...(kept === undefined ? {} : { earlier: kept.earlier }),
    ...(compared === undefined ? {} : { comparison: compared.comparison }),
  };
  const completed = complete(ticket.revision, shown, file.expiresAt, stored);
  const transition = resealing(withResultMs(completed, context.at), deps.secretsKeys);
  return { transition, file, bytes, release: (isStored: boolean) => compared?.release(isStored) };
}

/**
 * Seals secrets with the current key if they were sealed with a former one. The secrets are valid: the completed refresh has used them.
 */
function resealing(transition: Transition, secretsKeys: SecretsKeys | undefined): Transition {
  return (record, now) => {
    const next = transition(record, now);
    if (next?.secrets === undefined || secretsKeys === undefined) return next;
    return { ...next, secrets: secretsKeys.reseal(next.secrets, next) };
  };
}

/** Stores the extracted parts of the page next to its file if they were requested. */
async function acceptExtracted(
  { options }: CaptureRecord,
  extracted: ExtractedUpload | undefined,
  picture: Omit<ExpectedUpload, 'contentType'>,
  deadline: number,
  { store }: SettleFilesDeps,
) {
  if (!hasExtractedFile(options) || extracted === undefined) return {};
  const expected = {
    ...picture,
    name: extractedName(picture.name),
    object: extractedName(picture.object),
    contentType: extractedType,
    maxBytes: maxStoredBytes,
  };
  const { file } = await store.accept(extracted.upload, expected, { deadline });
  return { extracted: { parts: extracted.parts, bytes: file.size } };
}

/** Removes a file that no record contains. If this fails, the store removes the file after its expiry. */
export async function discardFiles(
  ticket: Ticket,
  { outcome, record }: { readonly outcome: SettlementOutcome; readonly record: CaptureRecord | null },
  { upload, extracted }: Completed,
  { store, log }: SettleFilesDeps,
): Promise<void> {
  if (outcome === 'completed') return;
  const fileName = record?.fileName ?? ticket.object;
  try {
    await store.discard(fileName, upload);
    if (extracted !== undefined) await store.discard(extractedName(fileName), extracted.upload);
    if (record?.status === 'completed') return;
    const names = record === null ? [fileName, extractedName(fileName)] : removableNamesOf(record);
    for (const name of names) await store.remove(name);
  } catch (error) {
    log.debug({ err: error, uuid: ticket.uuid }, 'a file that belongs to no capture could not be removed');
  }
}

/** Adds the time that the job waited, including the transport of job and result, which a renderer cannot measure. */
function withQueueMs(report: CaptureReport, queueMs: number): CaptureReport {
  return { ...report, timings: { ...report.timings, queueMs: Math.max(0, Math.round(queueMs)) } };
}

/** Adds the time from the arrival of the result to the end of the capture. @param arrivedAt Unix milliseconds by the server's clock */
function withResultMs(transition: Transition, arrivedAt: number): Transition {
  return (record, now) => {
    const next = transition(record, now);
    return next && withTimings(next, { resultMs: Math.max(0, now - arrivedAt) });
  };
}
