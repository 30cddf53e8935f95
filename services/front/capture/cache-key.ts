import { hash } from 'node:crypto';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { Persistence } from '@webcapture/shared/captures/capture-record.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';

/** Part of every name. Increase it when equal requests no longer result in equal pictures, to invalidate all entries. */
const nameVersion = 1;

interface CacheNameExtras {
  readonly persistence?: Persistence | undefined;
  /** Keyed hash; see `SecretsKeys`. */
  readonly secretsHash?: string | undefined;
}

/**
 * Returns the name of the cache entry that equal captures of an account share, as 64 hex digits. The name depends on the page, the
 * requested region, and every option that can change a pixel, after defaults. It also depends on the persistence, so that a request for a
 * persisted capture is not answered with one that is not persisted.
 */
export function cacheName(
  source: { readonly kind: 'url'; readonly url: string } | { readonly kind: 'html'; readonly html: string },
  options: RenderOptions,
  region: Region | 'auto',
  { persistence, secretsHash }: CacheNameExtras = {},
): string {
  const page = source.kind === 'url' ? ['url', new URL(source.url).href] : ['html', sha256(source.html)];
  const kept = persistence === undefined ? [] : [persistence];
  const secret = secretsHash === undefined ? [] : [{ secrets: secretsHash }];
  return sha256(canonical([nameVersion, page, region, omitUnusedOptions(options), ...kept, ...secret]));
}

/** Omits options that the format does not use, so that they do not distinguish equal captures. */
function omitUnusedOptions({ quality, pdf, ...rest }: RenderOptions): object {
  switch (rest.format) {
    case 'png':
      return rest;
    case 'none': {
      const { imageTimeout: _pictures, ...read } = rest;
      return read;
    }
    case 'jpeg':
    case 'webp':
      return { ...rest, quality };
    case 'pdf':
      // A full-page PDF has the size of its content.
      return { ...rest, pdf: rest.isFullPage ? { ...pdf, paper: null, landscape: null } : pdf };
  }
}

/** Serializes as JSON with sorted keys, so that equal values result in equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
}

/** Returns the SHA-256 of a text in UTF-8 as 64 hex digits. */
export function sha256(text: string): string {
  return hash('sha256', text);
}
