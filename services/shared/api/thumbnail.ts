import { type Static, Type } from 'typebox';

/** Widths of thumbnails in pixels. There are only a few, because each costs a process and memory in the cache. */
export const thumbnailWidths = [160, 320, 640, 1280, 1568] as const;

/** Query of GET /captures/{uuid}/thumbnail. */
export const thumbnailQuerySchema = Type.Object(
  {
    width: Type.Integer({
      minimum: 32,
      maximum: 1568,
      default: 320,
      description: `Greatest width, in pixels. It is rounded up to one of ${thumbnailWidths.join(', ')}.`,
    }),
  },
  { additionalProperties: false },
);

export type ThumbnailQuery = Static<typeof thumbnailQuerySchema>;
