import { Type, type Static } from 'typebox';
import { captureStatuses, type CaptureStatus } from './capture-result.ts';
import { pageQuerySchema } from './page.ts';

/** What a request for the list of captures may say. */
export const captureListQuerySchema = Type.Object(
  {
    limit: pageQuerySchema.properties.limit,
    cursor: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
        examples: ['0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77'],
        description: 'The nextCursor of the answer before; absent for the beginning.',
      }),
    ),
    status: Type.Optional(
      Type.Unsafe<CaptureStatus>({
        type: 'string',
        enum: [...captureStatuses],
        description: 'Only captures that stand so.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type CaptureListQuery = Static<typeof captureListQuerySchema>;
