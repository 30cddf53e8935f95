import { randomBytes } from 'node:crypto';
import { extensions, extractedType, type Format, mimeTypes } from '../api/formats.ts';
import type { StoredFile } from './file-store.ts';

const fileName = new RegExp(`^[0-9a-f-]{36}-[0-9a-f]{32}\\.(?:${Object.values(extensions).join('|')})$`);

/** Returns a file name that consists of the uuid, 128 unguessable random bits, and the extension. */
export function newFileName(uuid: string, format: Format): string {
  return `${uuid}-${randomBytes(16).toString('hex')}.${extensions[format]}`;
}

/**
 * Returns another name for an object whose name is in use. Another delivery of the same job uses it, or an upload whose answer was lost.
 * Renderers can neither read nor overwrite objects.
 */
export const withSuffix = (object: string) => `${object}~${randomBytes(4).toString('hex')}`;

const suffix = /~[0-9a-f]{8}$/;

/** Returns the name of an object without the suffix of {@link withSuffix}. */
export const withoutSuffix = (object: string) => object.replace(suffix, '');

/** Whether a name has the form of a file name of this service. */
export function isFileName(name: string): boolean {
  return fileName.test(name);
}

const extractedSuffix = '.extracted';

/** Name under which the extracted parts of a page are stored, next to its file. */
export const extractedName = (name: string): string => name + extractedSuffix;

const diagnosticsSuffix = /\.diagnostics-[0-9a-f]{32}$/;

/**
 * Returns a new name for the diagnostics of a rendering, next to the object of that name. The name cannot be derived from the name of the
 * file, because diagnostics are private to the account. Buckets may serve files to everyone who knows their names.
 */
export const newDiagnosticsName = (object: string): string =>
  `${object}.diagnostics-${randomBytes(16).toString('hex')}`;

/** Whether a name is that of diagnostics of the given object. */
export const isDiagnosticsName = (name: string, object: string): boolean =>
  diagnosticsSuffix.test(name) && name.replace(diagnosticsSuffix, '') === object;

/** Whether a name has the form of a file, of extracted parts or of diagnostics. */
export function isStoredName(name: string): boolean {
  if (name.endsWith(extractedSuffix)) return isFileName(name.slice(0, -extractedSuffix.length));
  return isFileName(name.replace(diagnosticsSuffix, ''));
}

/** Returns the uuid of the capture that a name belongs to. */
export const uuidOfFileName = (name: string): string => name.slice(0, 36);

/** Returns `capture-<uuid>.<extension>`, without the random part of the file name, which is secret. */
export function downloadName(uuid: string, format: Format): string {
  return `capture-${uuid}.${extensions[format]}`;
}

function formatOf(mimeType: StoredFile['contentType']): Format {
  const found = Object.entries(mimeTypes).find(([, type]) => type === mimeType);
  return (found?.[0] ?? 'png') as Format;
}

/** Returns the Content-Disposition header of a file: shown inline, and saved as {@link downloadName}. */
export function contentDisposition({ name, contentType }: Pick<StoredFile, 'name' | 'contentType'>): string {
  if (contentType === extractedType) return `attachment; filename="capture-${uuidOfFileName(name)}.json.gz"`;
  return `inline; filename="${downloadName(uuidOfFileName(name), formatOf(contentType))}"`;
}

/** A year, the maximum for caches. */
const maxSeconds = 31_536_000;

/**
 * Returns the Cache-Control header of a file that is sent at `now` (Unix ms). Copies expire with the file. Copies of a file that may be
 * replaced must be revalidated earlier, which is cheap if the file is unchanged.
 */
export function cacheControl(
  { expiresAt, cacheSeconds }: Pick<StoredFile, 'expiresAt' | 'cacheSeconds'>,
  now: number,
): string {
  const secondsLeft = Math.max(0, Math.floor((expiresAt - now) / 1000));
  if (cacheSeconds === undefined) return `public, max-age=${Math.min(secondsLeft, maxSeconds)}`;
  return `public, max-age=${Math.min(secondsLeft, cacheSeconds)}, must-revalidate`;
}
