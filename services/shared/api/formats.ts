/** The file formats, with what each can hold. */
export const formats = ['png', 'jpeg', 'webp', 'pdf'] as const;

export type Format = (typeof formats)[number];

export const mimeTypes = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  pdf: 'application/pdf',
} as const satisfies Record<Format, string>;

export type MimeType = (typeof mimeTypes)[Format];

/** What of a page can be asked for beside its picture. */
export const extractNames = ['html', 'links', 'markdown', 'metadata', 'text'] as const;
export type ExtractName = (typeof extractNames)[number];

/** Of each part: bytes of UTF-8, of `links` and `metadata` as JSON. */
export const maxExtractedBytes = 1024 * 1024;

/** Of what was extracted from a page, which is stored beside its file: JSON, compressed. */
export const extractedType = 'application/gzip' as const;

/** Type of stored diagnostics: JSON, compressed, like the extracted parts. */
export const diagnosticsType: typeof extractedType = 'application/gzip';

/** The type of anything that is stored of a capture. */
export type StoredType = MimeType | typeof extractedType;

/**
 * The most pixels that a capture of a format may have on a side: pixels of the file for images (65,500 is the most
 * that libjpeg, and so nearly every program, writes or reads; 16,383 is what a WebP header can say), CSS pixels for a pdf of one single page (200 inches, the limit
 * of PDF 1.x viewers).
 */
export const maxSide = { png: 100_000, jpeg: 65_500, webp: 16_383, pdf: 19_200 } as const satisfies Record<
  Format,
  number
>;
