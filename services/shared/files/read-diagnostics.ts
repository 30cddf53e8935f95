import { renderDiagnosticsSchema } from '../api/diagnostics.ts';
import {
  maxDiagnosticsBytes,
  maxDiagnosticsJsonBytes,
  maxLastPictureBytes,
  type StoredDiagnostics,
} from './diagnostics-file.ts';
import type { CallLimits, FileStore } from './file-store.ts';
import { readStoredJson } from './read-json.ts';
import { hasSignature } from './upload.ts';

interface ReadDiagnostics {
  readonly diagnostics: StoredDiagnostics['diagnostics'];
  /** A JPEG file. */
  readonly picture: Buffer | null;
}

/**
 * Reads diagnostics from the object of that name.
 *
 * @throws Error if they are missing or damaged
 */
export async function readDiagnostics(store: FileStore, name: string, limits: CallLimits): Promise<ReadDiagnostics> {
  const sizes = {
    what: 'diagnostics',
    maxStoredBytes: maxDiagnosticsBytes,
    maxJsonBytes: maxDiagnosticsJsonBytes,
  };
  return parseDiagnostics(await readStoredJson(store, name, sizes, limits));
}

/**
 * Validates diagnostics that a renderer has stored, and drops fields that are not in the schema.
 *
 * @throws TypeError if they do not match the schema
 */
export async function parseDiagnostics(json: unknown): Promise<ReadDiagnostics> {
  const stored = (json ?? {}) as Partial<Record<keyof StoredDiagnostics, unknown>>;
  // The module is loaded at the first use, because it consists of 150 modules.
  const { Value } = await import('typebox/value');
  const diagnostics = Value.Clean(renderDiagnosticsSchema, stored.diagnostics);
  if (!Value.Check(renderDiagnosticsSchema, diagnostics)) throw new TypeError('the diagnostics violate their schema');
  return { diagnostics, picture: diagnostics.picture === null ? null : pictureOf(stored.picture) };
}

function pictureOf(base64: unknown): Buffer {
  const picture = Buffer.from(String(base64), 'base64');
  if (picture.length > maxLastPictureBytes || !hasSignature('image/jpeg', picture)) {
    throw new TypeError('the last picture is not a JPEG file, or it is too large');
  }
  return picture;
}
