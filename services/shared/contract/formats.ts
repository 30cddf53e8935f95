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

/**
 * The greatest height that a capture of a format may have: pixels of the file for images (65,535 is the largest number
 * that a JPEG header can say, 16,383 the same for WebP), CSS pixels for a pdf of one single page (200 inches, the limit
 * of PDF 1.x viewers).
 */
export const maxHeight = { png: 100_000, jpeg: 65_535, webp: 16_383, pdf: 19_200 } as const satisfies Record<
  Format,
  number
>;
