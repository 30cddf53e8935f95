import { Type, type Static, type TSchema } from 'typebox';

/** What a request for a list may say about the part of it that it wants. */
export const pageQuerySchema = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'The most items to answer.' }),
    cursor: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        examples: ['0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77'],
        description: 'The nextCursor of the answer before; absent for the beginning.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type PageQuery = Static<typeof pageQuerySchema>;

/** The `data` of a list: newest first, and where the next part begins, or null at the end. */
export const pageSchema = <T extends TSchema>(item: T) =>
  Type.Object({
    items: Type.Array(item),
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'null: there are no more.' }),
  });
