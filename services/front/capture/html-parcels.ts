import type { Region } from '@webcapture/shared/contract/regions.ts';

/** Supplied html that does not go along with its job: it is too large, or kept to be rendered later or again. */
export interface HtmlParcels {
  /** For renderers of that region. `expiresAt` in Unix milliseconds. */
  put(parcel: { readonly region: Region; readonly name: string }, html: string, expiresAt: number): Promise<void>;
  remove(name: string): Promise<void>;
}
