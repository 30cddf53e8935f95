import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { CaptureOutcome, CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { CaptureReport } from '@webcapture/shared/api/capture.ts';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { blockNothing } from '@webcapture/shared/api/option-schemas.ts';
import { newFileName } from '@webcapture/shared/files/file-name.ts';
import type { NewFile } from '@webcapture/shared/files/file-store.ts';

/** Every option with its default. */
export const defaultOptions: RenderOptions = {
  format: 'png',
  viewport: { width: 1280, height: 720, deviceScaleFactor: 1 },
  isFullPage: false,
  quality: 80,
  colorScheme: 'light',
  timeout: 30_000,
  waitUntil: 'load',
  imageTimeout: 3000,
  delay: 0,
  antiBot: false,
  block: blockNothing,
  pdf: {
    paper: 'A4',
    landscape: false,
    margin: { top: 10, right: 10, bottom: 10, left: 10 },
    printBackground: true,
    scale: 1,
  },
};

export const plainReport = {
  httpStatus: 200,
  responseUrl: 'https://example.com/',
  finalUrl: 'https://example.com/',
  title: 'A page',
  images: { loaded: 0, failed: 0, pending: 0 },
  blockedRequests: 0,
  softTimeouts: [],
  strategy: 'single',
  truncated: false,
  blank: false,
  challenge: false,
  timings: { queueMs: 1, openMs: 1, navigateMs: 2, settleMs: 3, shootMs: 4, storeMs: 5 },
} satisfies CaptureReport;

/** Returns the response of POST /capture as later requests get it: without the time until the first response. */
export const withoutAnswerMs = <T>(response: T): T =>
  JSON.parse(JSON.stringify(response, (name, value: unknown) => (name === 'answerMs' ? undefined : value))) as T;

/** A renderer's report of a capture of {@link newRecord}. */
export function newOutcome(changes: Partial<CaptureOutcome> = {}): CaptureOutcome {
  return {
    region: 'us-east',
    mimeType: 'image/png',
    fileSizeBytes: 7,
    width: 1280,
    height: 720,
    capturedAt: Date.now(),
    object: 'us-east/name',
    report: plainReport,
    ...changes,
  };
}

/** Returns a capture as a front accepts it, accepted now unless `acceptedAt` is among the changes. */
export function newRecord(changes: Partial<CaptureRecord> = {}): CaptureRecord {
  const { acceptedAt = Date.now(), uuid = randomUUIDv7(), lifetimeMs = 86_400_000 } = changes;
  return {
    uuid,
    account: 'acme',
    status: 'queued',
    priority: 'interactive',
    url: 'https://example.com/',
    options: defaultOptions,
    tokenCost: 1,
    fileName: newFileName(uuid, 'png'),
    requestedRegion: 'auto',
    region: 'us-east',
    acceptedAt,
    startBy: acceptedAt + 60_000,
    deadline: acceptedAt + 153_000,
    lifetimeMs,
    expiresAt: acceptedAt + lifetimeMs,
    ...changes,
  };
}

/** Returns a file to be stored, with its name. */
export type NamedFile = NewFile & { readonly name: string };

/** Returns a file with this number of random bytes, to be stored; with 33 bytes or more, it starts like a PNG of its size. */
export function newFile(size: number, changes: Partial<Omit<NamedFile, 'object'>> = {}): NamedFile {
  const name = changes.name ?? newFileName(randomUUIDv7(), 'png');
  const file = {
    name,
    object: name,
    region: 'us-east',
    account: 'acme',
    contentType: 'image/png',
    expiresAt: Date.now() + 3_600_000,
    width: 3,
    height: 4,
    ...changes,
  } as const;
  return { ...file, bytes: changes.bytes ?? pngLike(size, file) };
}

/** Returns random bytes that start like a PNG of that size and cannot be decoded. */
export function pngLike(size: number, { width, height }: { readonly width: number; readonly height: number }): Buffer {
  const bytes = randomBytes(size);
  if (size < 33) return bytes;
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 0, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  bytes.set([8, 2, 0, 0, 0], 24);
  return bytes;
}
