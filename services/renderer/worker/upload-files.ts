import { diagnosticsType, extractedType } from '@webcapture/shared/api/formats.ts';
import {
  packDiagnostics,
  maxDiagnosticsLifetimeMs,
  type StoredDiagnostics,
} from '@webcapture/shared/files/diagnostics-file.ts';
import { packExtracted, partsOf } from '@webcapture/shared/files/extracted-file.ts';
import { extractedName, newDiagnosticsName } from '@webcapture/shared/files/file-name.ts';
import type { FileUploader } from '@webcapture/shared/files/file-store.ts';
import type { CaptureJob } from '@webcapture/shared/queue/job.ts';
import type { JobOutcome } from '@webcapture/shared/queue/results.ts';
import { withDeadline } from '@webcapture/shared/runtime/deadline.ts';
import type { Logger } from '@webcapture/shared/runtime/logger.ts';
import type { Rendering } from '../page/engine.ts';

type Completed = Extract<JobOutcome, { kind: 'completed' }>;
type DiagnosticsUpload = Completed['diagnostics'];

/** The descriptions of the created files in a result. */
export type Uploads = Pick<Completed, 'upload' | 'extracted' | 'diagnostics'>;

export interface UploadDeps {
  readonly uploader: FileUploader;
  /** The server's clock. */
  readonly clock: { readonly now: () => number };
  readonly log: Logger;
}

/** Maximum time by which storing the diagnostics delays the end of a capture. */
const diagnosticsTimeoutMs = 3000;

/**
 * Creates the file, the extracted parts of the page and the diagnostics.
 *
 * @param deadline Unix milliseconds on this process's clock
 */
export function uploadFiles(
  { bytes, mimeType, width, height, extracted, diagnostics }: Rendering,
  job: CaptureJob,
  deadline: number,
  deps: UploadDeps,
): { readonly sent: Promise<Uploads>; readonly stored: Promise<Uploads> } {
  const { uploader, clock } = deps;
  const { object, lifetimeMs, expiresAt, cacheSeconds } = job.file;
  const both = {
    region: job.region,
    account: job.account,
    expiresAt: expiresAt ?? clock.now() + lifetimeMs,
    width,
    height,
    ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
    deadline: clock.now() + (deadline - Date.now()),
  };
  const picture = uploader.upload({ ...both, object, bytes, contentType: mimeType });
  const extractedFile = extracted && {
    parts: partsOf(extracted),
    uploading: packExtracted(extracted).then((packed) =>
      uploader.upload({ ...both, object: extractedName(object), bytes: packed, contentType: extractedType }),
    ),
  };
  const noted = diagnostics && uploadDiagnostics(diagnostics, job, { ...deps, expiresAt: both.expiresAt });
  const until = async (point: 'sent' | 'stored'): Promise<Uploads> => {
    const [first, second, third] = await Promise.all([
      picture[point],
      extractedFile?.uploading.then((uploading) => uploading[point]),
      noted,
    ]);
    return {
      upload: first,
      ...(extractedFile && second ? { extracted: { upload: second, parts: extractedFile.parts } } : {}),
      ...(third === undefined ? {} : { diagnostics: third }),
    };
  };
  const [sent, stored] = [until('sent'), until('stored')];
  // If a caller gets the rejection of `sent`, it does not await `stored`.
  stored.catch(() => undefined);
  return { sent, stored };
}

/** Stores the diagnostics of a failed rendering until its file would have expired, but for at most 30 days. */
export function uploadFailure(
  stored: StoredDiagnostics,
  job: CaptureJob,
  deps: UploadDeps,
): Promise<DiagnosticsUpload> {
  const { lifetimeMs, expiresAt = deps.clock.now() + Math.min(lifetimeMs, maxDiagnosticsLifetimeMs) } = job.file;
  return uploadDiagnostics(stored, job, { ...deps, expiresAt });
}

/** Never rejects: diagnostics do not affect the result of a capture. */
async function uploadDiagnostics(
  stored: StoredDiagnostics,
  { region, account, file: { object }, uuid }: CaptureJob,
  { uploader, clock, expiresAt, log }: UploadDeps & { readonly expiresAt: number },
): Promise<DiagnosticsUpload> {
  const name = newDiagnosticsName(object);
  try {
    const bytes = await packDiagnostics(stored);
    const uploading = uploader.upload({
      object: name,
      region,
      account,
      bytes,
      contentType: diagnosticsType,
      expiresAt,
      // The format requires a width and a height for each stored file.
      width: 1,
      height: 1,
      deadline: clock.now() + diagnosticsTimeoutMs,
    });
    return { name, upload: await withDeadline(uploading.stored, diagnosticsTimeoutMs, 'storing diagnostics') };
  } catch (error) {
    log.warn({ err: error, uuid }, 'storing the diagnostics of a capture failed');
    return undefined;
  }
}
