import { renderDiagnosticsSchema } from '../api/diagnostics.ts';
import {
  maxDiagnosticsBytes,
  maxDiagnosticsJsonBytes,
  maxLastPictureBytes,
  type StoredDiagnostics,
} from './diagnostics-file.ts';
import type { CallLimits, FileStore } from './file-store.ts';
import { readPackedJson } from './read-packed.ts';
import { hasSignature } from './upload.ts';

/**
 * The diagnostics in the object of that name. A renderer wrote them, so that they are held against the schema and all limits.
 *
 * @throws Error when they are not there, or damaged
 */
export async function readDiagnostics(
  store: Pick<FileStore, 'stat' | 'read'>,
  name: string,
  limits: CallLimits,
): Promise<{ readonly diagnostics: StoredDiagnostics['diagnostics']; readonly picture: Buffer | null }> {
  const sizes = { maxStoredBytes: maxDiagnosticsBytes, maxJsonBytes: maxDiagnosticsJsonBytes };
  const stored = ((await readPackedJson(store, name, sizes, limits)) ?? {}) as Partial<Record<string, unknown>>;
  // Loaded by the first who reads one: it takes 150 modules.
  const { Value } = await import('typebox/value');
  const diagnostics = Value.Clean(renderDiagnosticsSchema, stored['diagnostics']);
  if (!Value.Check(renderDiagnosticsSchema, diagnostics)) throw new TypeError('the diagnostics have another form');
  return { diagnostics, picture: diagnostics.picture === null ? null : pictureOf(stored['picture']) };
}

function pictureOf(base64: unknown): Buffer {
  const picture = Buffer.from(String(base64), 'base64');
  if (picture.length > maxLastPictureBytes || !hasSignature('image/jpeg', picture)) {
    throw new TypeError('the last picture is no JPEG file, or too large');
  }
  return picture;
}
