import { type Static, Type } from 'typebox';
import { regions } from '../runtime/regions.ts';
import { formats } from './formats.ts';

/** Widths and heights in millimetres, upright. */
export const paperMm: Readonly<Record<PdfOptions['paper'], readonly [width: number, height: number]>> = {
  A0: [841, 1189],
  A1: [594, 841],
  A2: [420, 594],
  A3: [297, 420],
  A4: [210, 297],
  A5: [148, 210],
  A6: [105, 148],
  Letter: [215.9, 279.4],
  Legal: [215.9, 355.6],
  Tabloid: [279.4, 431.8],
  Ledger: [431.8, 279.4],
};

export const mmPerInch = 25.4;
/** CSS pixels to the inch. */
export const pxPerInch = 96;
/** Points, the unit of a pdf, to the inch. */
export const ptPerInch = 72;

const oneOf = <const T extends readonly string[]>(values: T, options: object) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** The most seconds that a file is kept without persistence, and the longest refresh interval: 30 days. */
export const maxLifetimeSeconds = 2_592_000;

/** The most pixels of an image, over its whole area, that a viewport may ask for. */
export const maxViewportPixels = 150_000_000;

const viewportSchema = Type.Object(
  {
    width: Type.Integer({ minimum: 16, maximum: 7680, default: 1280, description: 'CSS pixels.' }),
    height: Type.Integer({ minimum: 16, maximum: 7680, default: 720, description: 'CSS pixels.' }),
    deviceScaleFactor: Type.Number({ minimum: 1, maximum: 3, default: 1, description: 'Device pixels per CSS pixel.' }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'The window of the browser. At most 150 megapixels in all (width × height × deviceScaleFactor²).',
  },
);

const blockSchema = Type.Object(
  {
    ads: Type.Boolean({ default: false, description: 'Block advertising.' }),
    trackers: Type.Boolean({ default: false, description: 'Block trackers.' }),
    media: Type.Boolean({ default: false, description: 'Block audio and video.' }),
    cookieBanners: Type.Boolean({ default: false, description: 'Dismiss or hide consent banners.' }),
  },
  { additionalProperties: false, default: {}, description: 'What to keep from loading or showing.' },
);

/** The most millimetres that a margin of a pdf may have. */
export const maxMarginMm = 1000;

const paperSizes = ['A0', 'A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'Letter', 'Legal', 'Tabloid', 'Ledger'] as const;

const lengthSchema = Type.Union([
  Type.Number({ minimum: 0, maximum: maxMarginMm }),
  Type.String({ pattern: '^\\d{1,4}(\\.\\d{1,4})? ?(mm|cm|in|px)$', examples: ['12.5mm'] }),
]);

const marginSchema = Type.Union(
  [
    ...lengthSchema.anyOf,
    Type.Object(
      {
        top: Type.Optional(lengthSchema),
        right: Type.Optional(lengthSchema),
        bottom: Type.Optional(lengthSchema),
        left: Type.Optional(lengthSchema),
      },
      { additionalProperties: false },
    ),
  ],
  {
    default: 10,
    description:
      'A number of millimetres, a string with a unit (mm, cm, in, px), or an object {top, right, bottom, left} of such; a side left out is 10 mm.',
  },
);

const pdfSchema = Type.Object(
  {
    paper: oneOf(paperSizes, { default: 'A4', description: 'Paper size; not used with isFullPage.' }),
    landscape: Type.Boolean({ default: false }),
    margin: marginSchema,
    printBackground: Type.Boolean({ default: true, description: 'Print background colours and images.' }),
    scale: Type.Number({ minimum: 0.1, maximum: 2, default: 1, description: 'Scale of the rendering.' }),
  },
  { additionalProperties: false, description: 'Page set-up; with format pdf only.' },
);

/**
 * The body of `POST /capture`: the only definition of its fields, bounds and defaults. A new field that decides pixels also
 * goes into {@link RenderOptions} and `renderOptions` of the front; one that takes time, into `deadlineOf`.
 */
export const captureRequestSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'The page to capture: an absolute http or https address. Exactly one of url and html.',
      }),
    ),
    html: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_048_576,
        description:
          'HTML to render, raw (it contains "<") or base64 of UTF-8 (standard or URL-safe). Exactly one of url and html.',
      }),
    ),
    responseType: oneOf(['json', 'file'], { default: 'json', description: 'Metadata, or the file itself.' }),
    format: oneOf(formats, { default: 'png', description: 'Format of the file.' }),
    viewport: viewportSchema,
    isFullPage: Type.Boolean({
      default: false,
      description: 'Capture the whole scrollable page; overrides the height of the viewport. A pdf is one single page.',
    }),
    quality: Type.Integer({ minimum: 1, maximum: 100, default: 80, description: 'For jpeg and webp.' }),
    colorScheme: oneOf(['light', 'dark', 'no-preference'], {
      default: 'light',
      description: 'What prefers-color-scheme tells the page.',
    }),
    timeout: Type.Integer({
      minimum: 5000,
      maximum: 120_000,
      default: 30_000,
      description: 'Navigation timeout in milliseconds. Waiting in the queue does not count.',
    }),
    waitUntil: oneOf(['load', 'domcontentloaded', 'networkidle', 'commit'], {
      default: 'load',
      description:
        "What the navigation waits for; with load, what the page's scripts are fetching then has up to 1.5 s more. A page that has answered but does not get there in time is captured as it stands; report.softTimeouts says so.",
    }),
    imageTimeout: Type.Integer({
      minimum: 0,
      maximum: 15_000,
      default: 3000,
      description: 'Most milliseconds to wait for images; less when all have loaded sooner.',
    }),
    delay: Type.Integer({
      minimum: 0,
      maximum: 15_000,
      default: 0,
      description: 'Milliseconds to wait after the page has loaded.',
    }),
    responseCache: Type.Object(
      {
        enabled: Type.Boolean({ default: false }),
        ttl: Type.Integer({
          minimum: 60,
          maximum: maxLifetimeSeconds,
          default: 86_400,
          description: 'Seconds: the greatest age of an answer, and how long this capture answers for others.',
        }),
      },
      {
        additionalProperties: false,
        default: {},
        description:
          'Answer with an equal capture of the account when there is one, at no cost; equal requests at the same time are rendered once.',
      },
    ),
    cdnTtl: Type.Integer({
      exclusiveMinimum: 60,
      maximum: maxLifetimeSeconds,
      default: 86_400,
      description: 'Seconds that the file is kept. Ignored with persistence.',
    }),
    persistence: Type.Object(
      {
        enabled: Type.Boolean({ default: false }),
        refreshInterval: Type.Integer({
          minimum: 0,
          maximum: maxLifetimeSeconds,
          default: 0,
          description: 'Seconds between refreshes into the same file; 0 for never.',
        }),
      },
      { additionalProperties: false, default: {}, description: 'Long-term storage, refreshed when asked.' },
    ),
    background: Type.Boolean({ default: false, description: 'Answer at once and process later.' }),
    webhook: Type.Optional(
      Type.Object(
        { url: Type.String({ minLength: 1, maxLength: 2048, description: 'Where the signed notice goes.' }) },
        { additionalProperties: false, description: 'Completion notice; with background only.' },
      ),
    ),
    region: oneOf(['auto', ...regions], { default: 'auto', description: 'Where the page is rendered.' }),
    antiBot: Type.Boolean({ default: false, description: 'Render with the stealth provider; costs one token more.' }),
    block: blockSchema,
    pdf: Type.Optional(pdfSchema),
  },
  { additionalProperties: false },
);

/** A request body after validation: every default filled in. */
export type CaptureRequest = Static<typeof captureRequestSchema>;

/** What a capture costs, in tokens, when it completes. */
export function tokenCost(request: Pick<CaptureRequest, 'antiBot'>): number {
  return request.antiBot ? 2 : 1;
}

/** Page set-up of a pdf, margins in millimetres. */
export interface PdfOptions {
  readonly paper: NonNullable<CaptureRequest['pdf']>['paper'];
  readonly landscape: boolean;
  readonly margin: { readonly top: number; readonly right: number; readonly bottom: number; readonly left: number };
  readonly printBackground: boolean;
  readonly scale: number;
}

/**
 * All that decides the pixels of a capture, after validation, defaults and normalisation: what the renderer is handed,
 * and what the name of a cache entry is made of.
 */
export type RenderOptions = Readonly<
  Pick<
    CaptureRequest,
    | 'format'
    | 'viewport'
    | 'isFullPage'
    | 'quality'
    | 'colorScheme'
    | 'timeout'
    | 'waitUntil'
    | 'imageTimeout'
    | 'delay'
    | 'antiBot'
    | 'block'
  >
> & { readonly pdf: PdfOptions };
