import { type Static, type TSchema, Type } from 'typebox';
import { errorCodes, failureCauses } from '../runtime/errors.ts';
import { regions } from '../runtime/regions.ts';
import { extractedSchema } from './extracted.ts';
import { formats, mimeTypes } from './formats.ts';
import { oneOf } from './one-of.ts';
import { type SecretOptionName, secretOptionNames } from './option-table.ts';
import { isNamedSecret, type NamedSecret } from './secret-options.ts';
import { recordEvents, webhookStates } from './webhook.ts';

const milliseconds = (description: string) => Type.Integer({ minimum: 0, description });

/** How the picture of a page was taken. */
const captureStrategies = ['single', 'grown', 'tiles'] as const;
export type CaptureStrategy = (typeof captureStrategies)[number];

/** The report about the quality of a capture. */
export const reportSchema = Type.Object({
  httpStatus: Type.Union([Type.Integer(), Type.Null()], {
    description: 'HTTP status of the page, or null for supplied HTML.',
  }),
  responseUrl: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description:
        'URL of the response from which the page was loaded, after HTTP redirects, or null for supplied HTML. `finalUrl` differs if the page then changed its address. Captures of earlier versions do not have it.',
    }),
  ),
  finalUrl: Type.String({
    description:
      'URL of the page when it was captured, after redirects, scripts and steps, or about:blank for supplied HTML.',
  }),
  title: Type.String({ description: 'Title of the page, at most 512 characters.' }),
  images: Type.Object({ loaded: Type.Integer(), failed: Type.Integer(), pending: Type.Integer() }),
  blockedRequests: Type.Integer({ description: 'Requests that `block` or the egress policy refused.' }),
  softTimeouts: Type.Array(
    oneOf([
      'load',
      'domcontentloaded',
      'networkidle',
      'waitFor',
      'images',
      'fonts',
      'settle',
      'animations',
      'content',
      'extract',
    ]),
    {
      description: 'Waits that timed out. The page was captured as it was.',
    },
  ),
  strategy: oneOf(captureStrategies, {
    description:
      'How the image was taken: of one viewport (single), of a viewport and the page below it (grown), or viewport by viewport (tiles), where fixed boxes come and go with the scroll position.',
  }),
  originalSize: Type.Optional(
    Type.Object(
      { width: Type.Integer({ minimum: 1 }), height: Type.Integer({ minimum: 1 }) },
      { description: 'With `resize`: size in pixels of the image before. `metadata` has that of the file.' },
    ),
  ),
  scriptError: Type.Optional(
    Type.String({
      description: 'What the error of `script` says, at most 500 characters and its line. Only if there was one.',
    }),
  ),
  truncated: Type.Boolean({
    description:
      'Whether the page is not shown to its end: it was still growing when scrolling stopped, or it is taller than a file can be.',
  }),
  blank: Type.Boolean({
    description:
      'Whether the image has a single color. Of a PDF: whether its pages show nothing but one plain background.',
  }),
  challenge: Type.Boolean({ description: 'Whether the page showed a bot check.' }),
  timings: Type.Object(
    {
      queueMs: milliseconds('Time from the acceptance of the request to the start of rendering.'),
      openMs: Type.Optional(
        milliseconds(
          'Time from the start of rendering to the navigation: opening the page, and setting it up for the options. Captures of version 0.2.0 do not have it.',
        ),
      ),
      navigateMs: milliseconds('Time until the page reached the event in waitUntil.'),
      settleMs: milliseconds('Time spent waiting for images and the delay, and preparing a full page.'),
      shootMs: milliseconds('Time spent taking and encoding the screenshot.'),
      storeMs: milliseconds('Time spent storing the file, and before that collecting the diagnostics.'),
      resultMs: Type.Optional(
        milliseconds(
          'Time from the arrival of the result at the front to the end of the capture: accepting the file. Captures of version 0.2.0 do not have it.',
        ),
      ),
      answerMs: Type.Optional(
        milliseconds(
          'Time from the end of the capture to the response: writing the record. Only in the response to the request that waited for the capture, and its repetitions. Background captures, refreshes and GET requests do not have it.',
        ),
      ),
    },
    {
      description:
        'Steps of the capture, or of its latest refresh. Without answerMs, they add up to processingTimeMs, with answerMs to the time from the acceptance to the response. A response from the cache has the steps of the earlier capture.',
    },
  ),
});

export type CaptureReport = Static<typeof reportSchema>;
export type SoftTimeout = CaptureReport['softTimeouts'][number];

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const date = (description: string) => nullable(Type.String({ format: 'date-time', description }));

const errorSchema = Type.Object({
  code: oneOf(errorCodes),
  message: Type.String(),
  cause: oneOf(failureCauses, {
    description:
      'client: the request asked for the failure, or its own limits refuse it. page: the site or its page failed. service: this service failed.',
  }),
});

/** How the picture of a refresh differs from the one that it replaced. */
export const comparisonFields = {
  changedShare: Type.Number({ minimum: 0, maximum: 1, description: 'Share of different pixels.' }),
  hasChanged: Type.Boolean({ description: 'Whether the share is greater than persistence.compare.minShare.' }),
  differenceUrl: nullable(
    Type.String({ description: 'URL of a PNG file that shows the different pixels; null if there is none.' }),
  ),
};

/** The state of the refreshes of a capture. It is present if the capture has persistence, or if a refresh was requested. */
const refreshSchema = Type.Object({
  state: oneOf(['idle', 'queued', 'rendering', 'completed', 'failed'], {
    description: 'State of the latest refresh; idle if there was none.',
  }),
  error: nullable(errorSchema),
  acceptedAt: date('Time at which the latest refresh was accepted.'),
  endedAt: date('Time at which the latest refresh ended.'),
  nextAt: date('Time of the next automatic refresh, or null if there is none.'),
  tokensCharged: Type.Integer({ minimum: 0, description: 'Tokens charged for all refreshes of the capture so far.' }),
  comparison: Type.Optional(
    Type.Object(
      {
        ...comparisonFields,
        previousFileUrl: nullable(
          Type.String({ description: 'URL of the file that the refresh replaced; null if it is not kept.' }),
        ),
      },
      {
        description:
          'With persistence.compare: how the latest refresh has changed the picture. Absent if it has not completed.',
      },
    ),
  ),
});

/** State of the webhook delivery of the latest event of a capture, or of a batch. */
export const webhookViewSchema = Type.Object({
  url: Type.String(),
  state: oneOf(webhookStates, {
    description:
      'waiting: there is no event yet. pending: the event has not been delivered yet. delivered: the event was delivered. failed: all delivery attempts failed.',
  }),
  event: nullable(oneOf(recordEvents, { description: 'The latest event.' })),
  attempts: Type.Integer({ minimum: 0, description: 'Delivery attempts of the latest event so far.' }),
  lastStatus: nullable(Type.Integer({ description: 'HTTP status of the last response of the receiver.' })),
  lastError: nullable(Type.String({ description: 'Reason why the last delivery attempt failed.' })),
  nextAttemptAt: date('Time of the next delivery attempt.'),
});

/** The secrets of a capture without their values. Present if the capture has any secrets. */
const secretsSchema = Type.Object(
  {
    ...secretFields(),
    pdfEncryption: Type.Optional(Type.Boolean({ description: 'Only for an encrypted PDF.' })),
    stepValues: Type.Optional(Type.Boolean({ description: 'Only for a capture whose steps enter values.' })),
  },
  {
    description:
      'Names of the headers and cookies of the request, and whether it had auth, css, script, pdf.encryption and values of steps.',
  },
);

function secretFields() {
  const fields = secretOptionNames.map((name) => [
    name,
    isNamedSecret(name) ? Type.Array(Type.String(), { description: `Names of the ${name}.` }) : Type.Boolean(),
  ]);
  type Fields = { [Name in SecretOptionName]: Name extends NamedSecret ? Type.TArray<Type.TString> : Type.TBoolean };
  return Object.fromEntries(fields) as Fields;
}

export type SecretsView = Static<typeof secretsSchema>;
export type RefreshView = Static<typeof refreshSchema>;
export type WebhookView = Static<typeof webhookViewSchema>;

/** States of a capture. */
export const captureStatuses = ['queued', 'rendering', 'completed', 'failed', 'expired', 'deleted'] as const;
export type CaptureStatus = (typeof captureStatuses)[number];

const hasDiagnosticsSchema = Type.Optional(
  Type.Boolean({ description: 'Present and true if GET /captures/{uuid}/diagnostics explains the capture.' }),
);

/** Present if the capture belongs to a batch. */
const batchSchema = Type.Optional(
  Type.String({ format: 'uuid', description: 'ID of the batch that requested the capture, for GET /batches/{id}.' }),
);

/** The `data` of a completed capture. It combines the shapes A and B of the interface. */
export const captureResultSchema = Type.Object({
  uuid: Type.String({ format: 'uuid', description: 'Identifier of the capture (UUIDv7).' }),
  // Clients distinguish the shapes by the status. Only `deleted` occurs in two of them.
  status: oneOf(['completed', 'expired', 'deleted']),
  fileUrl: Type.String({ description: 'URL of the file.' }),
  fromCache: Type.Boolean({
    description: 'Whether the response is an equal capture that had completed earlier or was in progress.',
  }),
  tokenCost: Type.Integer({
    minimum: 0,
    description: 'Tokens charged for this request; 0 for responses from the cache.',
  }),
  fileSizeBytes: Type.Integer({ minimum: 1 }),
  processingTimeMs: milliseconds(
    'Time from the acceptance of the request to the stored file, or to the response for responses from the cache. After a refresh: from the acceptance of the refresh to its file.',
  ),
  region: oneOf(regions, { description: 'Region in which the page was rendered.' }),
  metadata: Type.Object({
    url: Type.String({ description: 'Requested URL, or about:blank for supplied HTML.' }),
    capturedAt: Type.String({ format: 'date-time', description: 'Time of the capture.' }),
    createdAt: Type.Integer({ description: 'Time of the capture as Unix time in seconds.' }),
    format: oneOf(formats),
    mimeType: oneOf(Object.values(mimeTypes)),
    fileSizeBytes: Type.Integer({ minimum: 1 }),
    width: Type.Integer({
      minimum: 1,
      description:
        'Size in pixels of the file. For a PDF, CSS pixels of the first page. With format none, CSS pixels of the viewport.',
    }),
    height: Type.Integer({
      minimum: 1,
      description: 'See width.',
    }),
    pages: Type.Optional(Type.Integer({ minimum: 1, description: 'Number of pages of a PDF.' })),
    viewport: Type.Object({
      width: Type.Integer(),
      height: Type.Integer(),
      deviceScaleFactor: Type.Number(),
    }),
    fullPage: Type.Boolean(),
    secrets: Type.Optional(secretsSchema),
    expiresAt: Type.String({ format: 'date-time', description: 'Time at which the file expires.' }),
  }),
  report: reportSchema,
  batch: batchSchema,
  hasDiagnostics: hasDiagnosticsSchema,
  extracted: Type.Optional(
    Type.Union([extractedSchema, Type.Null()], {
      description:
        'With `extract`, in the responses of POST /capture and GET /captures/{uuid} only: the parts of the page; null if the page did not answer, or the file is gone. Lists and webhooks do not contain it.',
    }),
  ),
  refresh: Type.Optional(refreshSchema),
  webhook: Type.Optional(webhookViewSchema),
});

export type CaptureResult = Static<typeof captureResultSchema>;

/** Fields of a capture that are known from its acceptance. */
const askedSchema = Type.Object({
  url: Type.String({ description: 'Requested URL, or about:blank for supplied HTML.' }),
  format: oneOf(formats),
  viewport: Type.Object({
    width: Type.Integer(),
    height: Type.Integer(),
    deviceScaleFactor: Type.Number(),
  }),
  fullPage: Type.Boolean(),
  secrets: Type.Optional(secretsSchema),
});

/** The `data` of a capture that has not ended. */
export const pendingCaptureSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    status: oneOf(['queued', 'rendering']),
    fileUrl: Type.String({ description: 'URL that the file will have.' }),
    fromCache: Type.Boolean(),
    tokenCost: Type.Integer({ minimum: 0, description: 'Tokens that are charged when the capture completes.' }),
    region: oneOf(regions, { description: 'Region in which the capture waits or is rendered.' }),
    acceptedAt: Type.String({ format: 'date-time', description: 'Time at which the request was accepted.' }),
    batch: batchSchema,
    estimatedWaitSeconds: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
        description:
          'Estimated time in seconds until rendering starts, or null if it is unknown. Only in the response to a background capture.',
      }),
    ),
    metadata: askedSchema,
    webhook: Type.Optional(webhookViewSchema),
  },
  { title: 'PendingCapture' },
);

/** The `data` of a capture that failed. */
const failedCaptureSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    status: oneOf(['failed']),
    fromCache: Type.Boolean(),
    tokenCost: Type.Integer({ minimum: 0, description: 'Always 0, because failed captures are not charged.' }),
    region: oneOf(regions),
    processingTimeMs: Type.Integer({
      minimum: 0,
      description: 'Time from the acceptance of the request to the failure.',
    }),
    acceptedAt: Type.String({ format: 'date-time', description: 'Time at which the request was accepted.' }),
    batch: batchSchema,
    error: errorSchema,
    hasDiagnostics: hasDiagnosticsSchema,
    metadata: askedSchema,
    webhook: Type.Optional(webhookViewSchema),
  },
  { title: 'FailedCapture' },
);

/** The `data` of a capture that was deleted before it had a file. */
const deletedCaptureSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    status: oneOf(['deleted']),
    fromCache: Type.Boolean(),
    tokenCost: Type.Integer({
      minimum: 0,
      description: 'Always 0, because the capture was deleted before it completed.',
    }),
    region: oneOf(regions),
    acceptedAt: Type.String({ format: 'date-time', description: 'Time at which the request was accepted.' }),
    batch: batchSchema,
    metadata: askedSchema,
  },
  { title: 'DeletedCapture' },
);

/** The `data` of `GET /captures/{uuid}`: its shape follows from `status`. */
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
