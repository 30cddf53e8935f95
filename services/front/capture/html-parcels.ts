/** Supplied html that does not go along with its job: it is too large, or kept to be rendered later or again. */
export interface HtmlParcels {
  /** `expiresAt` in Unix milliseconds. */
  put(name: string, html: string, expiresAt: number): Promise<void>;
  remove(name: string): Promise<void>;
}
