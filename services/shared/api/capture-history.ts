import { type Static, Type } from 'typebox';
import { errorCodes, failureCauses } from '../runtime/errors.ts';
import { comparisonFields } from './capture.ts';
import { deliverySchema } from './delivery.ts';
import { oneOf } from './one-of.ts';
import { maxEarlierFiles } from './option-schemas.ts';

const orNull = <T extends ReturnType<typeof Type.Integer> | ReturnType<typeof Type.String>>(schema: T) =>
  Type.Union([schema, Type.Null()]);

const comparisonSchema = Type.Union([Type.Object(comparisonFields), Type.Null()], {
  description:
    'With persistence.compare: how the refresh has changed the picture. Kept for as many refreshes as there are earlier files, but at least for the latest one.',
});

const pastRefreshSchema = Type.Object({
  number: Type.Integer({ minimum: 1, description: 'Refreshes of a capture are numbered from 1.' }),
  by: oneOf(['request', 'interval'], { description: 'Who asked for it: a request, or refreshInterval or schedule.' }),
  state: oneOf(['queued', 'rendering', 'completed', 'failed']),
  acceptedAt: Type.String({ format: 'date-time' }),
  endedAt: orNull(Type.String({ format: 'date-time' })),
  error: Type.Union([
    Type.Object({ code: oneOf(errorCodes), message: Type.String(), cause: oneOf(failureCauses) }),
    Type.Null(),
  ]),
  fileSizeBytes: orNull(Type.Integer({ minimum: 0 })),
  width: orNull(Type.Integer({ minimum: 0 })),
  height: orNull(Type.Integer({ minimum: 0 })),
  comparison: comparisonSchema,
});

const earlierFileSchema = Type.Object({
  fileUrl: Type.String({ description: 'URL of the file.' }),
  capturedAt: Type.String({ format: 'date-time', description: 'Time of the capture that the file shows.' }),
  replacedBy: Type.Integer({ minimum: 1, description: 'Number of the refresh that replaced the file.' }),
  fileSizeBytes: Type.Integer({ minimum: 1 }),
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  comparison: comparisonSchema,
});

/** The `data` of GET /captures/{uuid}/history. */
export const captureHistorySchema = Type.Object({
  options: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'Options of the request that differ from the defaults, as in POST /capture. Secrets and pdf.attachments are not shown.',
    },
  ),
  refreshes: Type.Array(pastRefreshSchema, {
    maxItems: 20,
    description: 'The latest refreshes, newest first. The size is that of the file that the refresh created.',
  }),
  files: Type.Array(earlierFileSchema, {
    maxItems: maxEarlierFiles,
    description:
      'The files that refreshes have replaced and persistence.history keeps, newest first. Empty when the capture has expired or was deleted.',
  }),
  deliveries: Type.Array(deliverySchema, {
    maxItems: 20,
    description: 'The latest attempts to deliver events to the webhook, newest first.',
  }),
});
export type CaptureHistory = Static<typeof captureHistorySchema>;
