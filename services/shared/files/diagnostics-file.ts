import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RenderDiagnostics } from '../api/diagnostics.ts';

/** Of the JSON with the picture in base64. */
export const maxDiagnosticsJsonBytes = 2 * 1024 * 1024;

/** Of the object: JSON, compressed. */
export const maxDiagnosticsBytes = 512 * 1024;

/** Of the last picture, a JPEG file. */
export const maxLastPictureBytes = 200 * 1024;

/** Diagnostics of a capture without a file are kept as long as its file would be, at most 30 days. */
export const maxDiagnosticsLifetimeMs = 30 * 86_400_000;

/** Diagnostics as they are stored: one object for each rendering. */
export interface StoredDiagnostics {
  readonly diagnostics: RenderDiagnostics;
  /** A JPEG file in base64, where `diagnostics.picture` describes one. */
  readonly picture?: string;
}

/** As it is stored. */
export const packDiagnostics = (stored: StoredDiagnostics): Promise<Buffer> => promisify(gzip)(JSON.stringify(stored));
