import { type Static, Type } from 'typebox';
import { diagnosticsLimits as limits } from './diagnostics-limits.ts';

const text = (description: string) => Type.String({ maxLength: limits.text, description });
const url = (description: string) => Type.String({ maxLength: limits.url, description });
const name = (description: string) => Type.String({ maxLength: limits.name, description });
const ms = (description: string) => Type.Integer({ minimum: 0, maximum: 1e9, description });
const startMs = ms('Milliseconds after the start of the rendering.');
const durationMs = ms('Milliseconds.');
const orNull = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: T) =>
  Type.Union([schema, Type.Null()]);

const stepSchema = Type.Object({
  name: name('setUp, navigation, script, click, steps, waitFor, settle, extract or picture.'),
  startMs,
  durationMs,
  failed: Type.Boolean({ description: 'Whether the capture failed in this step.' }),
});

const waitSchema = Type.Object({
  what: name('What the capture waited for.'),
  startMs,
  durationMs,
  timedOut: Type.Boolean({ description: 'Whether the wait ended because its time was over.' }),
});

const consoleSchema = Type.Object({
  level: name('Level of the message, such as error, warning or log; exception for an uncaught error.'),
  text: text('Text of the message.'),
  url: orNull(url('URL of the script or resource.')),
  line: orNull(Type.Integer({ minimum: 0, maximum: 1e9, description: 'Line in it, from 1.' })),
  atMs: startMs,
});

const requestSchema = Type.Object({
  url: url('URL without credentials and secrets.'),
  method: name('HTTP method.'),
  type: name('Type of the resource, such as document, script or image.'),
  status: orNull(Type.Integer({ minimum: 0, maximum: 999, description: 'HTTP status of the response.' })),
  error: orNull(name('Why the request failed, such as net::ERR_CONNECTION_REFUSED.')),
  mimeType: orNull(name('MIME type of the response.')),
  bytes: orNull(Type.Integer({ minimum: 0, maximum: 2 ** 50, description: 'Bytes of the body as received.' })),
  startMs,
  waitMs: orNull(ms('Milliseconds until the response began.')),
  durationMs: orNull(ms('Milliseconds until the end of the response. Null: the request has not ended.')),
});

const blockedSchema = Type.Object({
  url: url('URL without credentials and secrets.'),
  type: name('Type of the resource.'),
  rule: name(
    'ads, trackers, cookieBanners, chats, newsletters or media: the option of block. egressPolicy: the policy of the operator.',
  ),
  filter: orNull(text('Filter of the list that matched.')),
});

const animationSchema = Type.Object({
  name: name('Name of the CSS animation, or its type.'),
  element: name('Element that it moves.'),
});

const movingSchema = Type.Object({
  readyState: name('readyState of the document.'),
  images: Type.Array(url('URL of an image that has not loaded.'), { maxItems: limits.moving }),
  fonts: Type.Array(name('Family of a font that has not loaded.'), { maxItems: limits.moving }),
  animations: Type.Array(animationSchema, { maxItems: limits.moving }),
});

const pictureSchema = Type.Object({
  width: Type.Integer({ minimum: 1, maximum: 10_000, description: 'Pixels.' }),
  height: Type.Integer({ minimum: 1, maximum: 10_000, description: 'Pixels.' }),
  bytes: Type.Integer({ minimum: 1, maximum: 262_144, description: 'Size of the JPEG file.' }),
});

/** The facts that a renderer collected about one rendering. */
export const renderDiagnosticsSchema = Type.Object({
  startedAt: Type.String({ format: 'date-time', maxLength: 40, description: 'When the rendering began.' }),
  durationMs,
  error: Type.Union([
    Type.Object({ code: name('Code of the error.'), message: Type.String({ maxLength: 2000 }) }),
    Type.Null(),
  ]),
  pageUrl: url('URL of the page at the end.'),
  steps: Type.Array(stepSchema, { maxItems: limits.steps }),
  waits: Type.Array(waitSchema, {
    maxItems: limits.waits,
    description: 'Waits that took at least 100 ms or timed out. They overlap.',
  }),
  console: Type.Array(consoleSchema, {
    maxItems: limits.console,
    description: 'Latest messages and uncaught errors of the last document of the page, oldest first.',
  }),
  requests: Type.Array(requestSchema, {
    maxItems: limits.requests,
    description: 'Requests that failed or did not end, then the slowest, in the order of their start.',
  }),
  requestCount: Type.Integer({ minimum: 0, maximum: 1e9, description: 'Number of all requests of the page.' }),
  blocked: Type.Array(blockedSchema, { maxItems: limits.blocked }),
  moving: Type.Union([movingSchema, Type.Null()], {
    description: 'What was still loading or moving at the end. Null: the page did not answer.',
  }),
  picture: Type.Union([pictureSchema, Type.Null()], {
    description:
      'Last picture of the page of a failed capture: a JPEG file at /captures/{uuid}/diagnostics/picture. Null: there is none.',
  }),
});

export type RenderDiagnostics = Static<typeof renderDiagnosticsSchema>;
export type RequestEntry = RenderDiagnostics['requests'][number];
export type ConsoleEntry = RenderDiagnostics['console'][number];

/** `data` of GET /captures/{uuid}/diagnostics. */
export const diagnosticsSchema = Type.Object(
  {
    uuid: Type.String({ format: 'uuid' }),
    refresh: Type.Integer({
      minimum: 0,
      description: 'Number of the refresh that they are about; 0: the capture itself.',
    }),
    expiresAt: Type.String({ format: 'date-time', description: 'When the diagnostics are removed.' }),
    ...renderDiagnosticsSchema.properties,
  },
  { title: 'Diagnostics' },
);

export type Diagnostics = Static<typeof diagnosticsSchema>;
