import { type Static, Type } from 'typebox';
import { oneOf } from './one-of.ts';

/** Query of GET /captures/{uuid}. */
export const captureQuerySchema = Type.Object(
  {
    include: Type.Optional(
      oneOf(['options'], {
        description: 'options: also return the options of the request that differ from the defaults.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type CaptureQuery = Static<typeof captureQuerySchema>;
