import { type Static, type TProperties, Type } from 'typebox';
import { diagnosticsOption } from './diagnostics.ts';
import { extractOption } from './extracted.ts';
import { oneOf } from './one-of.ts';

const closed = <T extends TProperties>(
  properties: T,
  description: string,
  options: { readonly default?: object } = {},
) => Type.Object(properties, { additionalProperties: false, description, ...options });

const selector = (description: string) => Type.String({ minLength: 1, maxLength: 1000, description });

const reach =
  'CSS selector. It also matches in open shadow roots, and frame >> element matches in frames of the origin of the page.';

const selectors = (description: string) => Type.Array(selector(reach), { maxItems: 100, description });

const waitForSchema = closed(
  {
    selector: Type.Optional(selector(`${reach} Exactly one of selector and text is required.`)),
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1000,
        description:
          'Text of the page, without that of frames. Case does not matter, and any white space is one space.',
      }),
    ),
    state: oneOf(['visible', 'attached', 'hidden'], {
      default: 'visible',
      description:
        'visible: an element that matches has a box and is not hidden. attached: one is in the document. hidden: none is visible. The same goes for text.',
    }),
    timeout: Type.Integer({
      minimum: 0,
      maximum: 30_000,
      default: 10_000,
      description: 'Maximum time to wait, in milliseconds. 0 looks once.',
    }),
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

const clipSchema = closed(
  { x: position, y: position, width: side, height: side },
  'Capture this rectangle in place of the viewport, in CSS pixels from the top left corner of the page. The capture fails if it reaches beyond the page.',
);

const resizeSide = Type.Integer({ minimum: 1, maximum: 10_000, description: 'Pixels of the file.' });

const resizeSchema = closed(
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

const failOnSchema = closed(
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
    blank: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'The image has a single color, or the pages of the PDF are empty.',
      }),
    ),
    challenge: Type.Optional(Type.Boolean({ default: false, description: 'The page shows a bot check.' })),
    consoleErrors: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'A script of the page writes an error to the console, or does not catch an exception.',
      }),
    ),
  },
  'Fail the capture, at no cost, if any of these is the case.',
  { default: {} },
);

/** Conditions that fail a capture. */
export type FailOn = Static<typeof failOnSchema>;

/**
 * Options of `POST /capture` that change the page, the waits or the picture. All are optional, also those with a default, and
 * absent from jobs and cache keys if they have their default: requests without them keep the name of their cache entry.
 *
 * Validation, types, OpenAPI, job and cache key are derived from this list. A step of the renderer implements each option.
 */
export const pageOptions = {
  media: Type.Optional(
    oneOf(['screen', 'print'], {
      description: 'Media type of the style sheets that apply. Without it: screen for images, print for PDF.',
    }),
  ),
  reducedMotion: Type.Optional(
    Type.Boolean({ default: false, description: 'Value of the media feature prefers-reduced-motion: reduce if true.' }),
  ),
  waitFor: Type.Optional(waitForSchema),
  selector: Type.Optional(
    selector(
      `${reach} Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load.`,
    ),
  ),
  elementPadding: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 200,
      default: 0,
      description: 'CSS pixels of the page to show around the element of selector, as far as the page goes.',
    }),
  ),
  clip: Type.Optional(clipSchema),
  hide: Type.Optional(
    selectors('Elements that are not shown but keep their place, whenever they come: up to 100 CSS selectors.'),
  ),
  remove: Type.Optional(
    selectors('Elements that are left out and take no place, whenever they come: up to 100 CSS selectors.'),
  ),
  click: Type.Optional(
    Type.Array(selector(reach), {
      maxItems: 10,
      description:
        'Elements to click after load and before waitFor, in order, up to 10 CSS selectors. Each is awaited for up to 5 seconds, and a navigation that follows for the rest of timeout. The capture fails if one cannot be clicked.',
    }),
  ),
  javaScript: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'false: scripts of the page and its frames do not run, and noscript is shown.',
    }),
  ),
  omitBackground: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Transparent where the page paints nothing. With format png or webp only.',
    }),
  ),
  resize: Type.Optional(resizeSchema),
  failOn: Type.Optional(failOnSchema),
  headersFor: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 2048, examples: ['https://cdn.example.com'] }), {
      maxItems: 20,
      description: 'Other origins that are sent the headers of the request, such as https://cdn.example.com.',
    }),
  ),
  ignoreTlsErrors: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account.',
    }),
  ),
  extract: extractOption,
  diagnostics: diagnosticsOption,
} as const;
