import { type Static, Type } from 'typebox';
import { regions } from '../runtime/regions.ts';
import type { Device } from './devices.ts';
import { formats } from './formats.ts';
import { oneOf } from './one-of.ts';
import { pageOptions } from './page-options.ts';
import { type PdfOptions, pdfSchema } from './pdf-options.ts';
import { type SecretNames, secretOptions } from './secret-options.ts';
import { deviceOption, visitorOptions } from './visitor-options.ts';

/** Maximum lifetime in seconds of a file without persistence, and maximum refresh interval: 30 days. */
export const maxLifetimeSeconds = 2_592_000;

/** Maximum number of pixels of a viewport, including the scale factor. */
export const maxViewportPixels = 150_000_000;

const viewportSchema = Type.Object(
  {
    width: Type.Integer({ minimum: 16, maximum: 7680, default: 1280, description: 'Size in CSS pixels.' }),
    height: Type.Integer({ minimum: 16, maximum: 7680, default: 720, description: 'Size in CSS pixels.' }),
    deviceScaleFactor: Type.Number({ minimum: 1, maximum: 3, default: 1, description: 'Device pixels per CSS pixel.' }),
  },
  {
    additionalProperties: false,
    default: {},
    description:
      'Size of the browser window. The total size (width × height × deviceScaleFactor²) is at most 150 megapixels.',
  },
);

const blockSchema = Type.Object(
  {
    ads: Type.Boolean({ default: false, description: 'Block advertising.' }),
    trackers: Type.Boolean({ default: false, description: 'Block trackers.' }),
    media: Type.Boolean({ default: false, description: 'Block audio and video.' }),
    cookieBanners: Type.Boolean({ default: false, description: 'Dismiss or hide cookie banners.' }),
    chats: Type.Optional(Type.Boolean({ default: false, description: 'Block chat widgets.' })),
    newsletters: Type.Optional(
      Type.Boolean({ default: false, description: 'Block or hide overlays that ask for an email address.' }),
    ),
  },
  { additionalProperties: false, default: {}, description: 'Content to block.' },
);

/** The value of `block` in a request without it. */
export const blockNothing: Static<typeof blockSchema> = {
  ads: false,
  trackers: false,
  media: false,
  cookieBanners: false,
};

/** Options that affect the pixels and are absent from jobs if they have their default. */
const addedOptions = { ...pageOptions, ...visitorOptions } as const;
export const addedOptionNames = Object.keys(addedOptions) as readonly (keyof typeof addedOptions)[];

/**
 * The body of `POST /capture`: the only definition of its fields, bounds and defaults. Add new fields that affect the pixels to
 * {@link pageOptions} or {@link visitorOptions}, and those that take time also to `deadlineOf`. Add each to a group in option-groups.ts.
 */
export const captureRequestSchema = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description:
          'Absolute http or https URL of the page to capture, without a user name or password (see auth). Exactly one of url and html is required.',
      }),
    ),
    html: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_048_576,
        description:
          'HTML to render: raw if it contains "<", otherwise base64 (standard or URL-safe) of UTF-8. Exactly one of url and html is required.',
      }),
    ),
    responseType: oneOf(['json', 'file'], {
      default: 'json',
      description:
        'Respond with metadata (json) or with the file itself (file). file cannot be combined with background.',
    }),
    format: oneOf(formats, { default: 'png', description: 'Format of the file.' }),
    viewport: viewportSchema,
    isFullPage: Type.Boolean({
      default: false,
      description:
        'Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page.',
    }),
    quality: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 80,
      description: 'Image quality of jpeg and webp. Ignored for other formats.',
    }),
    colorScheme: oneOf(['light', 'dark', 'no-preference'], {
      default: 'light',
      description: 'Value of the media feature prefers-color-scheme.',
    }),
    timeout: Type.Integer({
      minimum: 5000,
      maximum: 120_000,
      default: 30_000,
      description: 'Navigation timeout in milliseconds. Time in the queue does not count.',
    }),
    waitUntil: oneOf(['load', 'domcontentloaded', 'networkidle', 'commit'], {
      default: 'load',
      description:
        "Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event.",
    }),
    imageTimeout: Type.Integer({
      minimum: 0,
      maximum: 15_000,
      default: 3000,
      description: 'Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded.',
    }),
    delay: Type.Integer({
      minimum: 0,
      maximum: 15_000,
      default: 0,
      description: 'Additional time to wait after the page has loaded, in milliseconds.',
    }),
    responseCache: Type.Object(
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
      {
        additionalProperties: false,
        default: {},
        description:
          'Response cache. When enabled, an equal earlier capture of the account is returned at no cost, and equal requests at the same time are rendered once.',
      },
    ),
    cdnTtl: Type.Integer({
      exclusiveMinimum: 60,
      maximum: maxLifetimeSeconds,
      default: 86_400,
      description: 'Time for which the file is kept, in seconds. Ignored when persistence is enabled.',
    }),
    persistence: Type.Object(
      {
        enabled: Type.Boolean({ default: false, description: 'Keep the file long-term, instead of for cdnTtl.' }),
        refreshInterval: Type.Integer({
          minimum: 0,
          maximum: maxLifetimeSeconds,
          default: 0,
          description:
            'Seconds between automatic refreshes into the same fileUrl; 0 disables them. Operators set the minimum (default 3600).',
        }),
      },
      {
        additionalProperties: false,
        default: {},
        description: 'Long-term storage of the file, with optional automatic refreshes.',
      },
    ),
    background: Type.Boolean({ default: false, description: 'Queue the capture and respond immediately.' }),
    webhook: Type.Optional(
      Type.Object(
        { url: Type.String({ minLength: 1, maxLength: 2048, description: 'URL that receives the signed event.' }) },
        {
          additionalProperties: false,
          description: 'Webhook for the end of the capture. Allowed with background only.',
        },
      ),
    ),
    region: oneOf(['auto', ...regions], {
      default: 'auto',
      description:
        'Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region.',
    }),
    antiBot: Type.Boolean({
      default: false,
      description: 'Render with a browser that avoids bot detection. Costs one more token.',
    }),
    block: blockSchema,
    pdf: Type.Optional(pdfSchema),
    device: deviceOption,
    ...addedOptions,
    ...secretOptions,
  },
  { additionalProperties: false },
);

/** A validated request body with all defaults. */
export type CaptureRequest = Static<typeof captureRequestSchema>;

/** Returns the tokens that a capture costs when it completes. */
export function tokenCost(request: Pick<CaptureRequest, 'antiBot'>): number {
  return request.antiBot ? 2 : 1;
}

/**
 * All options that affect the pixels of a capture, after validation, defaults and normalization. The renderer receives
 * them, and the name of the cache entry is derived from them.
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
    | keyof typeof addedOptions
  >
> & {
  readonly pdf: PdfOptions;
  /** From a device: it has a touch screen and applies the viewport meta tag. */
  readonly isMobile?: true;
  /** From a device, in CSS pixels. */
  readonly screen?: Device['screen'];
  /** Names of the secrets of the capture; the options never contain their values. */
  readonly secrets?: SecretNames;
};
