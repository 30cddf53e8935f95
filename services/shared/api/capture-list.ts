import { type Static, type TSchema, Type } from 'typebox';
import { captureStatuses } from './capture.ts';
import { oneOf } from './one-of.ts';

/** The query of a page of a list. */
export const pageQuerySchema = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of items to return.' }),
    cursor: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        examples: ['0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77'],
        description: 'The nextCursor of the previous page. Omit it for the first page.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type PageQuery = Static<typeof pageQuerySchema>;

/** Returns the schema of the `data` of a list. The newest item comes first; the cursor of the next page is null at the end. */
export const pageSchema = <T extends TSchema>(item: T) =>
  Type.Object({
    items: Type.Array(item),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Cursor of the next page, or null if this is the last page.',
    }),
  });

/** The query of the list of captures. */
export const captureListQuerySchema = Type.Object(
  {
    limit: pageQuerySchema.properties.limit,
    cursor: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
        examples: ['0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77'],
        description: 'The nextCursor of the previous page. Omit it for the first page.',
      }),
    ),
    status: Type.Optional(oneOf(captureStatuses, { description: 'Return only captures with this status.' })),
  },
  { additionalProperties: false },
);

export type CaptureListQuery = Static<typeof captureListQuerySchema>;
