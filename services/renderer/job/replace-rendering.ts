import type { CaptureJob } from '@webcapture/shared/contract/capture-job.ts';
import type { CaptureOutcome } from '@webcapture/shared/contract/capture-record.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { backoffMs, delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { FileStore, NewFile, StoredFile } from '@webcapture/shared/storage/file-store.ts';
import type { Rendering } from '../capture/engine.ts';
import { outcomeOf } from './outcome-of.ts';
import { isSamePicture } from './same-picture.ts';

/** Somebody else replaces the file at the same time only when a job is delivered twice; or the store is away. */
const mostTries = 5;

export interface Replaced {
  readonly outcome: CaptureOutcome;
  /** Unix milliseconds, as asked for. */
  readonly expiresAt: number;
  /** The file that was there shows the same: its bytes and its ETag have stayed. */
  readonly isSame: boolean;
}

/**
 * Puts what was rendered in place of the file of that name and tells what the record must say. A file that shows the same
 * keeps its bytes, and is written again only where it is to be kept for another time. When there is none (any more), it is
 * stored as a new one.
 *
 * @param capture `expiresAt` in Unix milliseconds, `cacheSeconds` as in StoredFile, `deadline` as in NewFile
 * @throws ServiceError STORAGE_FAILED; then the file is the old one or the new one, whole
 */
export async function replaceRendering(
  rendering: Rendering,
  capture: { job: CaptureJob; expiresAt: number; queueMs: number; deadline?: number; cacheSeconds?: number },
  store: FileStore,
): Promise<Replaced> {
  const { job, queueMs, expiresAt, deadline, cacheSeconds } = capture;
  const start = performance.now();
  const capturedAt = Date.now();
  const file: NewFile = {
    name: job.fileName,
    account: job.account,
    bytes: rendering.bytes,
    contentType: rendering.mimeType,
    expiresAt,
    width: rendering.width,
    height: rendering.height,
    ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
    ...(deadline === undefined ? {} : { deadline }),
  };
  const { stored, isSame } = await write(file, store);
  const storeMs = performance.now() - start;
  const outcome = outcomeOf(rendering, stored, { region: job.region, queueMs, capturedAt, storeMs });
  return { outcome, expiresAt: stored.expiresAt, isSame };
}

async function write(file: NewFile, store: FileStore): Promise<{ stored: StoredFile; isSame: boolean }> {
  // What is begun before the deadline and ends after it would be too late for the record.
  const { deadline = Infinity } = file;
  for (let attempt = 1; ; attempt++) {
    const waitMs = backoffMs(attempt, 50, 1000);
    const isLast = () => attempt === mostTries || Date.now() + waitMs >= deadline;
    const present = await store.stat(file.name, { deadline: file.deadline }).catch((error: unknown) => {
      if (isLast()) throw error;
      return undefined;
    });
    if (present === null) return { stored: await store.create(file), isSame: false };
    if (present !== undefined) {
      const shown = await bytesShowingTheSame(present, file, store);
      if (Date.now() >= deadline) throw new ServiceError('STORAGE_FAILED', 'The time was up before the file was read.');
      const stands = shown !== null && isKeptAlike(present, file);
      const stored = stands ? present : await store.replace({ ...file, bytes: shown ?? file.bytes }, present);
      if (stored !== null) return { stored, isSame: shown !== null };
    }
    if (isLast()) {
      throw new ServiceError('STORAGE_FAILED', 'The file of the capture was replaced by others again and again.');
    }
    // A replica that lags behind tells of the old file for a while.
    await delay(waitMs);
  }
}

const isKeptAlike = (present: StoredFile, file: NewFile) =>
  present.expiresAt === file.expiresAt && present.cacheSeconds === file.cacheSeconds;

/** The bytes of the file that is there, if they show what the new ones show. */
async function bytesShowingTheSame(present: StoredFile, file: NewFile, store: FileStore): Promise<Buffer | null> {
  const { contentType, width, height } = file;
  if (present.contentType !== contentType || present.width !== width || present.height !== height) return null;
  const bytes = await readWhole(present, file, store);
  return bytes !== null && (await isSamePicture(contentType, file.bytes, bytes)) ? bytes : null;
}

/** Null when it cannot be read: either another one is there by now, which replacing finds out, or it is of no use. */
async function readWhole(present: StoredFile, { deadline }: NewFile, store: FileStore): Promise<Buffer | null> {
  const parts: Uint8Array[] = [];
  try {
    for await (const part of store.read(present, undefined, { deadline })) parts.push(part);
  } catch {
    return null;
  }
  return Buffer.concat(parts);
}
