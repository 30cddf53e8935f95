import { Type, type Static } from 'typebox';
import { captureResultSchema, errorSchema, webhookSchema } from './capture-result.ts';
import { formats } from './formats.ts';
import { regions } from './regions.ts';

const enumOf = <const T extends readonly string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** What is known of a capture from its acceptance on. */
const askedSchema = Type.Object({
  url: Type.String({ description: 'The address that was asked for; about:blank for html.' }),
  format: enumOf(formats),
  viewport: Type.Object({
    width: Type.Integer(),
    height: Type.Integer(),
    deviceScaleFactor: Type.Number(),
  }),
  fullPage: Type.Boolean(),
});

/** The `data` of a capture that has still to end. */
export const pendingCaptureSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    status: enumOf(['queued', 'rendering']),
    fileUrl: Type.String({ description: 'Where the file will be.' }),
    fromCache: Type.Boolean(),
    tokenCost: Type.Integer({ minimum: 0, description: 'Tokens that it costs when it completes.' }),
    region: enumOf(regions, { description: 'Where it waits or is rendered.' }),
    acceptedAt: Type.String({ format: 'date-time' }),
    estimatedWaitSeconds: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
        description: 'In the answer to a background capture: until it begins, by how the queue is; null: unknown.',
      }),
    ),
    metadata: askedSchema,
    webhook: Type.Optional(webhookSchema),
  },
  { title: 'PendingCapture' },
);

/** The `data` of a capture that failed. */
const failedCaptureSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    status: enumOf(['failed']),
    fromCache: Type.Boolean(),
    tokenCost: Type.Integer({ minimum: 0, description: 'Always 0: a failed capture costs nothing.' }),
    region: enumOf(regions),
    processingTimeMs: Type.Integer({ minimum: 0, description: 'From acceptance to the failure.' }),
    acceptedAt: Type.String({ format: 'date-time' }),
    error: errorSchema,
    metadata: askedSchema,
    webhook: Type.Optional(webhookSchema),
  },
  { title: 'FailedCapture' },
);

/** The `data` of a capture that was deleted before it had a file. */
const deletedCaptureSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    status: enumOf(['deleted']),
    fromCache: Type.Boolean(),
    tokenCost: Type.Integer({ minimum: 0, description: 'Always 0: there was no capture.' }),
    region: enumOf(regions),
    acceptedAt: Type.String({ format: 'date-time' }),
    metadata: askedSchema,
  },
  { title: 'DeletedCapture' },
);

/** The `data` of `GET /captures/{uuid}`: `status` tells which of the shapes it is. */
export const captureStateSchema = Type.Union([
  captureResultSchema,
  pendingCaptureSchema,
  failedCaptureSchema,
  deletedCaptureSchema,
]);

export type PendingCapture = Static<typeof pendingCaptureSchema>;
export type FailedCapture = Static<typeof failedCaptureSchema>;
export type DeletedCapture = Static<typeof deletedCaptureSchema>;
export type CaptureState = Static<typeof captureStateSchema>;
