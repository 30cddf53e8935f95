/** The formats of pictures. */
const imageFormats = ['png', 'jpeg', 'webp'] as const;

export type ImageFormat = (typeof imageFormats)[number];

/** All formats of a capture. With `none`, no picture is taken, and the file contains the extracted parts as JSON. */
export const formats = [...imageFormats, 'pdf', 'none'] as const;

export type Format = (typeof formats)[number];

export const isImageFormat = (format: Format): format is ImageFormat => imageFormats.some((image) => image === format);

export const mimeTypes = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  pdf: 'application/pdf',
  none: 'application/json',
} as const satisfies Record<Format, string>;

export type MimeType = (typeof mimeTypes)[Format];

/** The types of files that are not JSON. */
export const binaryTypes = Object.values(mimeTypes).filter((type) => type !== mimeTypes.none);

/** The extensions of file names, without a dot. */
export const extensions = {
  png: 'png',
  jpeg: 'jpeg',
  webp: 'webp',
  pdf: 'pdf',
  none: 'json',
} as const satisfies Record<Format, string>;

/** Parts of a page that can be requested in addition to the picture. */
export const extractNames = ['html', 'links', 'markdown', 'metadata', 'text'] as const;
export type ExtractName = (typeof extractNames)[number];

/** All parts that `data.extracted` can have. `extractFields` asks for the part `fields`. */
export const partNames = [...extractNames, 'fields'] as const;
export type PartName = (typeof partNames)[number];

/** Maximum size of each part in UTF-8; `links`, `metadata` and `fields` as JSON. */
export const maxExtractedBytes = 1024 * 1024;

/** Type of the extracted parts, which are stored next to the file: compressed JSON. */
export const extractedType = 'application/gzip' as const;

/** Type of stored diagnostics: JSON, compressed, like the extracted parts. */
export const diagnosticsType: typeof extractedType = 'application/gzip';

/** Types of all stored objects of a capture. */
export type StoredType = MimeType | typeof extractedType;

/**
 * Maximum length of each side of a capture, by format. For images, the unit is a pixel of the file: libjpeg, and thus nearly every program,
 * supports up to 65,500, and the header of WebP up to 16,383. For a single-page PDF, the unit is a CSS pixel: the maximum is 200 inches,
 * the limit of PDF 1.x viewers.
 */
export const maxSide = { png: 100_000, jpeg: 65_500, webp: 16_383, pdf: 19_200 } as const satisfies Record<
  Exclude<Format, 'none'>,
  number
>;
