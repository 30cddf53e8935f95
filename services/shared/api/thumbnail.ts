import { type Static, Type } from 'typebox';

/** Query of GET /captures/{uuid}/thumbnail. */
export const thumbnailQuerySchema = Type.Object(
  {
    width: Type.Integer({ minimum: 32, maximum: 1568, default: 320, description: 'Greatest width, in pixels.' }),
  },
  { additionalProperties: false },
);

export type ThumbnailQuery = Static<typeof thumbnailQuerySchema>;
