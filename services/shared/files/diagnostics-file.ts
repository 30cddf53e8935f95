import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RenderDiagnostics } from '../api/diagnostics.ts';

/** Maximum size of the JSON, with the picture in base64. */
export const maxDiagnosticsJsonBytes = 2 * 1024 * 1024;

/** Maximum size of the stored object: compressed JSON. */
export const maxDiagnosticsBytes = 512 * 1024;

/** Maximum size of the last picture, a JPEG file. */
export const maxLastPictureBytes = 200 * 1024;

/** Maximum lifetime of diagnostics of a failed capture. They are kept as long as its file would be, but not longer than this. */
export const maxDiagnosticsLifetimeMs = 30 * 86_400_000;

/** The stored form of diagnostics: one object for each rendering. */
export interface StoredDiagnostics {
  readonly diagnostics: RenderDiagnostics;
  /** A JPEG file in base64. Present if `diagnostics.picture` describes one. */
  readonly picture?: string;
}

/** Compresses diagnostics for storage. */
export const packDiagnostics = (stored: StoredDiagnostics): Promise<Buffer> => promisify(gzip)(JSON.stringify(stored));
