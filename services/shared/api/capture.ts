import { type Static, type TSchema, Type } from 'typebox';
import { type ErrorCode, errorCodes } from '../runtime/errors.ts';
import { regions } from '../runtime/regions.ts';
import { formats, mimeTypes } from './formats.ts';
import { webhookEvents, webhookStates } from './webhook.ts';

/** One of these strings, as a schema that OpenAPI shows as an enum. */
export const enumOf = <const T extends readonly string[]>(values: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

const milliseconds = (description: string) => Type.Integer({ minimum: 0, description });

/** How the picture of a page was taken. */
const captureStrategies = ['single', 'grown', 'tiles'] as const;
export type CaptureStrategy = (typeof captureStrategies)[number];

/** How good a capture is. */
export const reportSchema = Type.Object({
  httpStatus: Type.Union([Type.Integer(), Type.Null()], { description: 'Status of the page; null for html.' }),
  finalUrl: Type.String({ description: 'Where the page ended up after redirects; about:blank for html.' }),
  title: Type.String({ description: 'Title of the page, at most 512 characters.' }),
  images: Type.Object({ loaded: Type.Integer(), failed: Type.Integer(), pending: Type.Integer() }),
  blockedRequests: Type.Integer({ description: 'Requests kept from loading by `block` or the egress policy.' }),
  softTimeouts: Type.Array(enumOf(['load', 'domcontentloaded', 'networkidle', 'images', 'fonts', 'settle']), {
    description: 'Waits that ended by their time-out; the page was captured as it stood.',
  }),
  // Captures from before it was told have none.
  strategy: Type.Optional(
    enumOf(captureStrategies, {
      description:
        'How the picture was taken: of one viewport (single), of a viewport as tall as the page (grown), or of one viewport at each place of the page (tiles), where the page is another one in a tall viewport.',
    }),
  ),
  truncated: Type.Boolean({
    description:
      'The page is not shown to its end: it still grew when scrolling stopped, or is taller than a file can be.',
  }),
  blank: Type.Boolean({ description: 'The picture is one single colour.' }),
  challenge: Type.Boolean({ description: 'A bot wall was seen.' }),
  timings: Type.Object({
    queueMs: milliseconds('From acceptance to the start of rendering.'),
    navigateMs: milliseconds('Until the page had reached waitUntil.'),
    settleMs: milliseconds('Waiting for images and the delay, and bringing a whole page into shape.'),
    shootMs: milliseconds('Taking and encoding the picture.'),
    storeMs: milliseconds('Storing the file.'),
  }),
});

export type CaptureReport = Static<typeof reportSchema>;
export type SoftTimeout = CaptureReport['softTimeouts'][number];

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const date = (description: string) => nullable(Type.String({ format: 'date-time', description }));

const errorSchema = Type.Object({
  code: Type.Unsafe<ErrorCode>({ type: 'string', enum: [...errorCodes] }),
  message: Type.String(),
});

/** How the refreshes of a capture stand; there with persistence, and once a refresh was asked for. */
const refreshSchema = Type.Object({
  state: enumOf(['idle', 'queued', 'rendering', 'completed', 'failed'], {
    description: 'Of the latest refresh; idle: there was none yet.',
  }),
  error: nullable(errorSchema),
  acceptedAt: date('When the latest refresh was accepted.'),
  endedAt: date('When it ended.'),
  nextAt: date('When the capture is refreshed by itself next; null: never.'),
  tokensCharged: Type.Integer({ minimum: 0, description: 'What all refreshes of the capture have cost so far.' }),
});

/** How the notice about the latest event of a capture stands. */
const webhookSchema = Type.Object({
  url: Type.String(),
  state: enumOf(webhookStates, {
    description: 'waiting for an event, pending until it was told, delivered, or failed: given up.',
  }),
  event: nullable(enumOf(webhookEvents)),
  attempts: Type.Integer({ minimum: 0 }),
  lastStatus: nullable(Type.Integer({ description: 'HTTP status of the last answer.' })),
  lastError: nullable(Type.String({ description: 'Why the last attempt did not succeed.' })),
  nextAttemptAt: date('When it is tried again.'),
});

export type RefreshView = Static<typeof refreshSchema>;
export type WebhookView = Static<typeof webhookSchema>;

/** States of a capture. */
export const captureStatuses = ['queued', 'rendering', 'completed', 'failed', 'expired', 'deleted'] as const;
export type CaptureStatus = (typeof captureStatuses)[number];

/** The `data` of a completed capture: shapes A and B of the interface at once. */
export const captureResultSchema = Type.Object({
  uuid: Type.String({ format: 'uuid', description: 'UUIDv7.' }),
  status: enumOf(captureStatuses),
  fileUrl: Type.String({ description: 'Where the file is.' }),
  fromCache: Type.Boolean({ description: 'Answered with an earlier capture, or one that was under way.' }),
  tokenCost: Type.Integer({ minimum: 0, description: 'Tokens charged; from the cache none.' }),
  fileSizeBytes: Type.Integer({ minimum: 1 }),
  processingTimeMs: milliseconds('From acceptance to the stored file; from the cache: to the answer.'),
  region: enumOf(regions, { description: 'Where the page was rendered.' }),
  metadata: Type.Object({
    url: Type.String({ description: 'The address that was asked for; about:blank for html.' }),
    capturedAt: Type.String({ format: 'date-time' }),
    createdAt: Type.Integer({ description: 'Unix time in seconds.' }),
    format: enumOf(formats),
    mimeType: enumOf(Object.values(mimeTypes)),
    fileSizeBytes: Type.Integer({ minimum: 1 }),
    width: Type.Integer({ minimum: 1, description: 'Pixels of the file; of a pdf, CSS pixels of the first page.' }),
    height: Type.Integer({ minimum: 1, description: 'Pixels of the file; of a pdf, CSS pixels of the first page.' }),
    viewport: Type.Object({
      width: Type.Integer(),
      height: Type.Integer(),
      deviceScaleFactor: Type.Number(),
    }),
    fullPage: Type.Boolean(),
    expiresAt: Type.String({ format: 'date-time', description: 'When the file is removed.' }),
  }),
  report: reportSchema,
  refresh: Type.Optional(refreshSchema),
  webhook: Type.Optional(webhookSchema),
});

export type CaptureResult = Static<typeof captureResultSchema>;

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
