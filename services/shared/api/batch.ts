import { type Static, Type } from 'typebox';
import { errorCodes, type ErrorCode } from '../runtime/errors.ts';
import { captureStatuses, webhookViewSchema } from './capture.ts';
import { captureRequestSchema } from './capture-request.ts';
import { oneOf } from './one-of.ts';

/** Maximum number of requests in one batch. */
export const maxBatchRequests = 1000;

/** The options of a capture that all requests of a batch can share. */
const sharedOptionsSchema = Type.Object(
  Type.Partial(Type.Omit(captureRequestSchema, ['url', 'html', 'responseType', 'background'])).properties,
  {
    additionalProperties: false,
    description:
      'Options of all requests: those of POST /capture, except url, html, responseType and background. A request overrides them, field by field also in nested objects such as viewport.',
  },
);

/** The body of `POST /captures/batch`. */
export const batchRequestSchema = Type.Object(
  {
    requests: Type.Array(captureRequestSchema, {
      minItems: 1,
      maxItems: maxBatchRequests,
      description: `Bodies of POST /capture, up to ${maxBatchRequests}. background is always true, and can be left out.`,
    }),
    options: Type.Optional(sharedOptionsSchema),
    webhook: Type.Optional(
      Type.Object(
        { url: Type.String({ minLength: 1, maxLength: 2048, description: 'URL that receives the signed event.' }) },
        {
          additionalProperties: false,
          description: 'Webhook for the end of the batch: one event batch.completed when all captures have ended.',
        },
      ),
    ),
  },
  { additionalProperties: false },
);

export type BatchRequest = Static<typeof batchRequestSchema>;

/** States of a batch: its captures are being accepted, some of them have not ended, or all have ended. */
const batchStatuses = ['accepting', 'processing', 'completed'] as const;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const countsSchema = Type.Object(
  {
    total: count('Captures of the batch.'),
    queued: count('Captures that wait for a renderer.'),
    rendering: count('Captures that are being rendered.'),
    completed: count('Captures with a file.'),
    failed: count('Captures that failed.'),
    expired: count('Captures whose file has expired.'),
    deleted: count('Captures that were deleted.'),
  },
  { description: 'Number of captures by status.' },
);

export type BatchCounts = Static<typeof countsSchema>;

const uuid = (description: string) => Type.String({ format: 'uuid', description });

/** A batch without its captures. */
export const batchSummarySchema = Type.Object({
  id: uuid('Identifier of the batch (UUIDv7).'),
  status: oneOf(batchStatuses, {
    description:
      'accepting: the request is being processed. processing: some captures have not ended. completed: all captures have ended, some of them perhaps as failed.',
  }),
  createdAt: Type.String({ format: 'date-time', description: 'Time of the request.' }),
  endedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Time at which the last capture ended; null before.',
  }),
  counts: countsSchema,
  tokensCharged: count('Tokens charged for the captures of the batch that have completed so far.'),
  webhook: Type.Optional(webhookViewSchema),
});

export type BatchSummary = Static<typeof batchSummarySchema>;

/** One capture of a batch. */
export const batchCaptureSchema = Type.Object({
  uuid: uuid('UUID of the capture, for GET /captures/{uuid}.'),
  url: Type.Union([Type.String(), Type.Null()], {
    description: 'Requested URL, about:blank for supplied HTML, or null for a capture without a record.',
  }),
  status: oneOf(captureStatuses),
  fromCache: Type.Boolean({ description: 'Whether it is an earlier capture from the response cache, at no cost.' }),
  fileUrl: Type.Union([Type.String(), Type.Null()], {
    description: 'URL of the file; null unless the capture has completed.',
  }),
  error: Type.Union(
    [
      Type.Object({ code: Type.Unsafe<ErrorCode>({ type: 'string', enum: [...errorCodes] }), message: Type.String() }),
      Type.Null(),
    ],
    { description: 'Why the capture failed.' },
  ),
});

/** The `data` of POST /captures/batch and GET /batches/{id}. */
export const batchSchema = Type.Object({
  ...batchSummarySchema.properties,
  captures: Type.Array(batchCaptureSchema, { description: 'The captures, in the order of the requests.' }),
});

export type BatchCapture = Static<typeof batchCaptureSchema>;
export type Batch = Static<typeof batchSchema>;
