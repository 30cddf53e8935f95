import { hash } from 'node:crypto';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import type { Region } from '@webcapture/shared/runtime/regions.ts';

/** Part of every name: another number leaves all entries behind, when equal requests no longer make equal pictures. */
const nameVersion = 1;

interface CacheNameExtras {
  readonly persistence?: { readonly refreshIntervalMs: number } | undefined;
  /** Keyed: see `SecretsKeys`. */
  readonly secretsHash?: string | undefined;
}

/**
 * The name under which equal captures of an account meet: made of the page and every option that can change a pixel,
 * after defaults, with the region as asked. Who asks for a capture that is kept, and refreshed, is not answered with one
 * that is not. 64 hex digits.
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
  return sha256(canonical([nameVersion, page, region, withoutIdle(options), ...kept, ...secret]));
}

/** Options that the format has no use for do not part captures that are equal. */
function withoutIdle({ quality, pdf, ...rest }: RenderOptions): object {
  switch (rest.format) {
    case 'png':
      return rest;
    case 'jpeg':
    case 'webp':
      return { ...rest, quality };
    case 'pdf':
      // One single page has the size of its content.
      return { ...rest, pdf: rest.isFullPage ? { ...pdf, paper: null, landscape: null } : pdf };
  }
}

/** JSON with the keys of every object in order, so that equal values make equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`;
}

/** Of a text in UTF-8: 64 hex digits. */
export function sha256(text: string): string {
  return hash('sha256', text);
}
