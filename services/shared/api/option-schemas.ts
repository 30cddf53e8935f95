import { type Static, type TProperties, type TStringOptions, Type } from 'typebox';
import { oneOf } from './one-of.ts';

/** Maximum lifetime in seconds of a file without persistence, and maximum refresh interval: 30 days. */
export const maxLifetimeSeconds = 2_592_000;

/** Maximum number of files that refreshes have replaced and that are kept. */
export const maxEarlierFiles = 100;

/** Maximum size of `css` and of `script` in UTF-8. */
export const maxCodeBytes = 64 * 1024;

/**
 * Returns the schema of an object that allows no other fields. If the object is required, its default is `{}`, because its fields have
 * defaults.
 */
export const closed = <T extends TProperties>(
  properties: T,
  description: string,
  options: { readonly default?: object; readonly writeOnly?: true } = {},
) => Type.Object(properties, { additionalProperties: false, description, ...options });

/** A switch that is off if the request does not set it. */
export const optionalSwitch = (description: string) => Type.Optional(Type.Boolean({ default: false, description }));

/** A text of at least one character. */
export const optionalText = (maxLength: number, description: string, more: TStringOptions = {}) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description, ...more }));

export const milliseconds = (minimum: number, maximum: number, initial: number, description: string) =>
  Type.Integer({ minimum, maximum, default: initial, description });

/** Description of the elements that each selector of a request can match. */
export const selectorReach =
  'CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page.';

export const selectorSchema = (description: string) => Type.String({ minLength: 1, maxLength: 1000, description });

export const optionalSelectors = (description: string, maxItems = 100) =>
  Type.Optional(Type.Array(selectorSchema(selectorReach), { maxItems, description }));

const viewportSide = (initial: number) =>
  Type.Integer({ minimum: 16, maximum: 7680, default: initial, description: 'Size in CSS pixels.' });

export const viewportSchema = closed(
  {
    width: viewportSide(1280),
    height: viewportSide(720),
    deviceScaleFactor: Type.Number({ minimum: 1, maximum: 3, default: 1, description: 'Device pixels per CSS pixel.' }),
  },
  'Size of the browser window. The total size (width × height × deviceScaleFactor²) is at most 150 megapixels.',
  { default: {} },
);

export const blockSchema = closed(
  {
    ads: Type.Boolean({ default: false, description: 'Block advertising.' }),
    trackers: Type.Boolean({ default: false, description: 'Block trackers.' }),
    media: Type.Boolean({ default: false, description: 'Block audio and video.' }),
    cookieBanners: Type.Boolean({ default: false, description: 'Dismiss or hide cookie banners.' }),
    chats: optionalSwitch('Block chat widgets.'),
    newsletters: optionalSwitch('Block or hide overlays that ask for an email address.'),
  },
  'Content to block.',
  { default: {} },
);

/** The value of `block` in a request without it. */
export const blockNothing: Static<typeof blockSchema> = {
  ads: false,
  trackers: false,
  media: false,
  cookieBanners: false,
};

export const waitForSchema = closed(
  {
    selector: Type.Optional(selectorSchema(`${selectorReach} Exactly one of selector and text is required.`)),
    text: optionalText(
      1000,
      'Text of the page, without that of frames. Case does not matter, and any white space is one space.',
    ),
    state: oneOf(['visible', 'attached', 'hidden'], {
      default: 'visible',
      description:
        'visible: an element that matches has a box and is not hidden. attached: one is in the document. hidden: none is visible. The same goes for text.',
    }),
    timeout: milliseconds(0, 30_000, 10_000, 'Maximum time to wait, in milliseconds. 0 looks once.'),
    required: Type.Boolean({
      default: false,
      description: 'Fail the capture if the wait times out. Otherwise report.softTimeouts contains waitFor.',
    }),
  },
  'Wait for an element or a text after the page has loaded.',
);

/** The option waitFor with defaults. */
export type WaitFor = Static<typeof waitForSchema>;

/** Maximum side length of a picture in pixels. */
const maxClipSide = 100_000;
const position = Type.Integer({
  minimum: 0,
  maximum: maxClipSide,
  description: 'CSS pixels from the top left corner of the page.',
});
const side = Type.Integer({ minimum: 1, maximum: maxClipSide, description: 'CSS pixels.' });

export const clipSchema = closed(
  { x: position, y: position, width: side, height: side },
  'Capture this rectangle in place of the viewport, in CSS pixels from the top left corner of the page. The capture fails if it reaches beyond the page.',
);

const resizeSide = Type.Integer({ minimum: 1, maximum: 10_000, description: 'Pixels of the file.' });

export const resizeSchema = closed(
  {
    width: Type.Optional(resizeSide),
    height: Type.Optional(resizeSide),
    fit: oneOf(['cover', 'contain', 'fill', 'inside'], {
      default: 'inside',
      description:
        'cover: fill the box, cut off what is over. contain: fit into the box and fill it up with white, or nothing with omitBackground. fill: stretch. inside: fit into the box, which may be larger than the picture.',
    }),
    enlarge: Type.Boolean({ default: false, description: 'Make a picture larger that is smaller than the box.' }),
  },
  'Resize the final picture. With one side, the other follows. report.originalSize is the size before.',
);

/** The option resize with defaults. */
export type Resize = Static<typeof resizeSchema>;

export const failOnSchema = closed(
  {
    status: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Integer({ minimum: 100, maximum: 599 }),
          Type.String({ pattern: '^[1-5]xx$', examples: ['4xx'] }),
        ]),
        { maxItems: 20, description: 'HTTP statuses of the page, such as 503, and classes of them, such as 4xx.' },
      ),
    ),
    blank: optionalSwitch('The image has a single color, or the pages of the PDF are empty.'),
    challenge: optionalSwitch('The page shows a bot check.'),
    consoleErrors: optionalSwitch(
      'A script of the page writes an error to the console, or does not catch an exception.',
    ),
  },
  'Fail the capture, at no cost, if any of these is the case.',
  { default: {} },
);

/** Conditions that fail a capture. */
export type FailOn = Static<typeof failOnSchema>;

export const freezeSchema = closed(
  {
    time: Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?(Z|[+-]\\d{2}:\\d{2})$',
      examples: ['2026-01-01T00:00:00Z'],
      default: '2026-01-01T00:00:00.000Z',
      description: 'Time at which Date and performance are stopped, ISO 8601 with an offset. Timers run as usual.',
    }),
    random: Type.Integer({
      minimum: 0,
      maximum: 4_294_967_295,
      default: 1,
      description: 'Seed of Math.random, whose numbers are then the same in each frame and capture.',
    }),
  },
  'Make captures of an unchanged page equal, for visual comparison: stop the clock, seed the random numbers, run loops of frames for 60 frames, stop animations at a fixed time, and hide the text cursor.',
);

export const geolocationSchema = closed(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees north.' }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees east.' }),
    accuracy: Type.Number({ minimum: 0, maximum: 100_000, default: 10, description: 'Metres.' }),
  },
  'Place of the visitor, and the permission to ask for it. Browsers tell it to pages of https only, and to frames of other origins if the page allows it.',
);

export const cookieSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 256 }),
    value: Type.String({ maxLength: 4096 }),
    url: optionalText(
      2048,
      'http or https URL whose host gets the cookie, and no other host. Excludes domain and path.',
    ),
    domain: optionalText(
      253,
      'Domain that gets the cookie, with its subdomains. Without domain and url: the host of the page.',
    ),
    path: optionalText(1024, 'Path of the cookie; / if not set.'),
    secure: Type.Optional(
      Type.Boolean({
        description:
          'Send the cookie over https only. Without domain, the default is whether url, or the URL of the page, is https.',
      }),
    ),
    httpOnly: Type.Optional(Type.Boolean({ description: 'Hide the cookie from scripts.' })),
    sameSite: Type.Optional(oneOf(['Strict', 'Lax', 'None'], { description: 'None requires secure.' })),
  },
  { additionalProperties: false },
);

export const authSchema = closed(
  {
    username: Type.String({ minLength: 1, maxLength: 1024 }),
    password: Type.String({ maxLength: 1024 }),
  },
  'User name and password for HTTP basic and digest authentication. Sent to the origin of the page only.',
  { writeOnly: true },
);

export const responseCacheSchema = closed(
  {
    enabled: Type.Boolean({ default: false, description: 'Use the response cache.' }),
    ttl: Type.Integer({
      minimum: 60,
      maximum: maxLifetimeSeconds,
      default: 86_400,
      description:
        'Time to live of the cache entry in seconds. An earlier capture is returned only if it is not older than this.',
    }),
  },
  'Response cache. When enabled, an equal earlier capture of the account is returned at no cost, and equal requests at the same time are rendered once.',
  { default: {} },
);

/** A field of a cron expression: `*`, numbers, names, ranges, lists and steps. */
const cronField = '[0-9A-Za-z*,/-]+';

const refreshScheduleSchema = closed(
  {
    cron: Type.String({
      maxLength: 100,
      pattern: `^${cronField}(?: ${cronField}){4}$`,
      examples: ['0 6 * * 1-5'],
      description:
        'Cron expression of five fields: minute, hour, day of the month, month, day of the week. If both days are restricted, one of them has to match.',
    }),
    timeZone: Type.String({
      minLength: 1,
      maxLength: 64,
      default: 'UTC',
      examples: ['Europe/Berlin'],
      description:
        'Time zone of the expression, a name of the IANA time zone database. A time that daylight saving time skips runs after the skipped hour, and one that occurs twice runs the first time.',
    }),
  },
  'Times of automatic refreshes, in place of refreshInterval. Two runs have the minimum distance that operators set for refreshInterval. Needs persistence.enabled.',
);

const pictureAreaSchema = closed(
  {
    x: Type.Integer({ minimum: 0, maximum: 100_000, description: 'Left edge.' }),
    y: Type.Integer({ minimum: 0, maximum: 100_000, description: 'Top edge.' }),
    width: Type.Integer({ minimum: 1, maximum: 100_000 }),
    height: Type.Integer({ minimum: 1, maximum: 100_000 }),
  },
  'Rectangle in CSS pixels from the top left corner of the picture, before resize.',
);

const compareSchema = closed(
  {
    threshold: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0.1,
      description: 'Minimum distance of two colours that count as different. A smaller value finds more differences.',
    }),
    minShare: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 0,
      description: 'Share of the pixels that must be exceeded for the picture to count as changed.',
    }),
    ignore: optionalSelectors(
      'Elements of the page that are not compared: up to 20 CSS selectors, and up to 200 elements.',
      20,
    ),
    ignoreAreas: Type.Optional(
      Type.Array(pictureAreaSchema, {
        maxItems: 20,
        description: 'Areas of the picture that are not compared, up to 20.',
      }),
    ),
  },
  'Compare the picture of each refresh with the one that it replaces. A picture that has changed is reported by the event capture.changed, with the changed share and a picture of the differences. Needs persistence.enabled, and format png, jpeg or webp.',
);

export const persistenceSchema = closed(
  {
    enabled: Type.Boolean({ default: false, description: 'Keep the file long-term, instead of for cdnTtl.' }),
    refreshInterval: Type.Integer({
      minimum: 0,
      maximum: maxLifetimeSeconds,
      default: 0,
      description:
        'Seconds between automatic refreshes into the same fileUrl; 0 disables them. Operators set the minimum (default 3600).',
    }),
    schedule: Type.Optional(refreshScheduleSchema),
    history: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxEarlierFiles,
        default: 0,
        description:
          'Number of earlier files that are kept when refreshes replace them; GET /captures/{uuid}/history lists them. Needs persistence.enabled.',
      }),
    ),
    compare: Type.Optional(compareSchema),
  },
  'Long-term storage of the file, with optional automatic refreshes.',
  { default: {} },
);

export const webhookSchema = closed(
  { url: Type.String({ minLength: 1, maxLength: 2048, description: 'URL that receives the signed event.' }) },
  'Webhook for the end of the capture. Allowed with background only.',
);
