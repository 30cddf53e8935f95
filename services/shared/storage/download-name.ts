import { mimeTypes, type Format } from '../contract/formats.ts';
import type { StoredFile } from './file-store.ts';

const uuidLength = 36;

/** `capture-<uuid>.<format>`: the random part of the file's name is nobody's business on a disk. */
export function downloadName(uuid: string, format: Format): string {
  return `capture-${uuid}.${format}`;
}

function formatOf(mimeType: StoredFile['contentType']): Format {
  const found = Object.entries(mimeTypes).find(([, type]) => type === mimeType);
  return (found?.[0] ?? 'png') as Format;
}

/** The capture that a file of ours is of. */
export const uuidOf = (fileName: string) => fileName.slice(0, uuidLength);

/** The Content-Disposition header of a file: shown in place, and saved under {@link downloadName}. */
export function contentDisposition({ name, contentType }: Pick<StoredFile, 'name' | 'contentType'>): string {
  return `inline; filename="${downloadName(uuidOf(name), formatOf(contentType))}"`;
}
