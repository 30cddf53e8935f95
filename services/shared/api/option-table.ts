import { type Static, type TSchema, Type } from 'typebox';
import { regions } from '../runtime/regions.ts';
import { extractFieldsSchema } from './extract-fields.ts';
import { extractNames, formats } from './formats.ts';
import { oneOf } from './one-of.ts';
import {
  authSchema,
  blockSchema,
  clipSchema,
  cookieSchema,
  failOnSchema,
  freezeSchema,
  geolocationSchema,
  maxCodeBytes,
  maxLifetimeSeconds,
  milliseconds,
  optionalSelectors,
  optionalSwitch,
  optionalText,
  persistenceSchema,
  resizeSchema,
  responseCacheSchema,
  selectorReach,
  selectorSchema,
  viewportSchema,
  waitForSchema,
  webhookSchema,
} from './option-schemas.ts';
import { pdfSchema } from './pdf-options.ts';
import { stepsSchema, timeoutOfSteps } from './steps.ts';

/** Timeout of the wait for each element to click. */
export const clickTimeoutMs = 5000;

/** Timeout of `script`. */
export const scriptTimeoutMs = 5000;

/** Maximum time for `freeze` to wait for loops of frames. */
export const freezeTimeoutMs = 8000;

/** Timeout of the extraction, which reads the page. */
export const extractTimeoutMs = 8000;

/** Time limit for adding metadata, attachments and encryption to a PDF. It includes the wait for other documents of the same renderer. */
export const documentTimeoutMs = 30_000;

/** Headings of the options in the playground and in the help of the command line, in their order. */
const groupTitles = [
  'Image and file',
  'Window and device',
  'PDF',
  'Waiting',
  'Page',
  'Visitor',
  'Credentials',
  'Cache and storage',
  'Delivery',
] as const;

/** A rule between two options. */
export interface Need {
  readonly option: string;
  /** The other option must have one of these values. Without `values`, any value is sufficient. */
  readonly values?: readonly (string | boolean)[];
  /** The reason, which is a part of the error message. */
  readonly because?: string;
}

/** Facts that every option has. */
interface Facts {
  /** The heading under which the option appears in the playground and in the help of the command line. Null if it appears in neither. */
  readonly group: (typeof groupTitles)[number] | null;
  /** The reason if a signed link cannot have the option. */
  readonly notInLink?: string;
  readonly needs?: readonly Need[];
  readonly excludes?: readonly string[];
}

/** The options of a capture on which the deadline of another option depends. */
interface Times {
  readonly timeout: number;
  readonly secrets?: { readonly pdfEncryption?: true };
}

/** Facts of an option that the renderer applies to the page. */
interface PageFacts<Value> extends Facts {
  /**
   * Whether the effect of the option on a page ends with the capture; may depend on the value of the option. If the effect does not end,
   * the capture neither reuses a page of its account nor leaves its page for reuse.
   */
  readonly isUndone: boolean | ((value: Value) => boolean);
  /** Milliseconds that the option adds to the deadline of a capture. */
  readonly addsMs: number | ((value: Value, times: Times) => number);
}

/** The part of a secret value that responses and records show: the names in it, or only the fact that it is set. */
type ShownSecret<Value> = 'presence' | ((value: Value) => readonly string[]);

/** Facts of an option with a secret value. A signed link cannot have it, and a page with it is never reused. */
interface SecretFacts<Shown> extends Omit<Facts, 'notInLink'> {
  readonly shows: Shown;
  readonly addsMs: number | ((shown: true | readonly string[], times: Times) => number);
}

const isPublic = 'a link is public, and would show it';
const isFile = 'a link is answered with the file';

/*
 * Each entry of the table has a schema and the facts of its kind; a missing fact is a type error. The schema is the source of the
 * validation, the type, the OpenAPI document, and the texts of the playground and of the command line.
 */

const pageOption = <S extends TSchema>(schema: S, facts: PageFacts<Static<S>>) =>
  ({ kind: 'page', schema, ...facts }) as const;

const secretOption = <S extends TSchema, const Shown extends ShownSecret<Static<S>>>(
  schema: S,
  facts: SecretFacts<Shown>,
) => ({ kind: 'secret', schema, notInLink: isPublic, ...facts }) as const;

/** An option that the renderer does not receive. It receives at most properties that follow from the option. */
const requestOption = <S extends TSchema>(schema: S, facts: Facts) => ({ kind: 'request', schema, ...facts }) as const;

const isImage: Need = { option: 'format', values: ['png', 'jpeg', 'webp'] };
const isAnywhere: Need = { option: 'isFullPage', values: [false], because: 'it can be anywhere on the page' };

/**
 * All options of `POST /capture`. This is the only definition of their fields, bounds and defaults, and of what the services must know
 * about each. An optional option of a page is absent from jobs and cache keys if it is not set or has its default. Requests that do not use
 * a new option therefore keep their cache entry.
 */
export const optionTable = {
  url: requestOption(
    optionalText(
      2048,
      'Absolute http or https URL of the page to capture, without a user name or password (see auth). Exactly one of url and html is required.',
    ),
    { group: null, excludes: ['html'] },
  ),
  html: requestOption(
    optionalText(
      1_048_576,
      'HTML to render: raw if it contains "<", otherwise base64 (standard or URL-safe) of UTF-8. Exactly one of url and html is required.',
    ),
    { group: null, notInLink: 'an address cannot hold a page' },
  ),
  responseType: requestOption(
    oneOf(['json', 'file'], {
      default: 'json',
      description:
        'Respond with metadata (json) or with the file itself (file). file cannot be combined with background or format none.',
    }),
    { group: null, notInLink: isFile },
  ),

  viewport: pageOption(viewportSchema, { group: 'Window and device', isUndone: true, addsMs: 0 }),
  device: requestOption(
    optionalText(
      64,
      'Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.',
      { examples: ['iPhone 15'] },
    ),
    { group: 'Window and device' },
  ),
  colorScheme: pageOption(
    oneOf(['light', 'dark', 'no-preference'], {
      default: 'light',
      description: 'Value of the media feature prefers-color-scheme.',
    }),
    { group: 'Window and device', isUndone: true, addsMs: 0 },
  ),
  media: pageOption(
    Type.Optional(
      oneOf(['screen', 'print'], {
        description: 'Media type of the style sheets that apply. Without it: screen for images, print for PDF.',
      }),
    ),
    { group: 'Window and device', isUndone: true, addsMs: 0 },
  ),
  reducedMotion: pageOption(optionalSwitch('Value of the media feature prefers-reduced-motion: reduce if true.'), {
    group: 'Window and device',
    isUndone: true,
    addsMs: 0,
  }),

  format: pageOption(
    oneOf(formats, {
      default: 'png',
      description:
        'Format of the file. none: no picture is taken, which saves time, and the file contains the parts of extract and extractFields as JSON.',
    }),
    {
      group: 'Image and file',
      isUndone: true,
      addsMs: 0,
    },
  ),
  quality: pageOption(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 80,
      description: 'Image quality of jpeg and webp. Ignored for other formats.',
    }),
    { group: 'Image and file', isUndone: true, addsMs: 0 },
  ),
  isFullPage: pageOption(
    Type.Boolean({
      default: false,
      description:
        'Capture the full scrollable page. Overrides the height of the viewport. A PDF then has a single page. With format none, the page is scrolled through before it is read.',
    }),
    { group: 'Image and file', isUndone: true, addsMs: 0 },
  ),
  selector: pageOption(
    Type.Optional(
      selectorSchema(
        `${selectorReach} Captures the first visible element that matches, whole, in place of the viewport. What covers it is hidden. The capture fails if there is none within 5 seconds after load.`,
      ),
    ),
    { group: 'Image and file', isUndone: true, addsMs: 0, needs: [isAnywhere, isImage], excludes: ['clip'] },
  ),
  elementPadding: pageOption(
    Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 200,
        default: 0,
        description: 'CSS pixels of the page to show around the element of selector, as far as the page goes.',
      }),
    ),
    { group: 'Image and file', isUndone: true, addsMs: 0, needs: [{ option: 'selector' }] },
  ),
  clip: pageOption(Type.Optional(clipSchema), {
    group: 'Image and file',
    isUndone: true,
    addsMs: 0,
    needs: [isAnywhere, isImage],
  }),
  resize: pageOption(Type.Optional(resizeSchema), {
    group: 'Image and file',
    isUndone: true,
    addsMs: 0,
    needs: [isImage],
  }),
  omitBackground: pageOption(
    optionalSwitch('Transparent where the page paints nothing. With format png or webp only.'),
    { group: 'Image and file', isUndone: true, addsMs: 0, needs: [{ option: 'format', values: ['png', 'webp'] }] },
  ),

  pdf: pageOption(Type.Optional(pdfSchema), {
    group: 'PDF',
    isUndone: true,
    addsMs: ({ metadata, attachments }, { secrets }) =>
      metadata === undefined && attachments === undefined && !secrets?.pdfEncryption ? 0 : documentTimeoutMs,
    needs: [{ option: 'format', values: ['pdf'] }],
  }),

  waitUntil: pageOption(
    oneOf(['load', 'domcontentloaded', 'networkidle', 'commit'], {
      default: 'load',
      description:
        "Event that ends the navigation. With load and networkidle, the capture then waits up to 2.5 seconds, or up to 5 seconds while content is added, for what the page's scripts are about to change in view. If load or networkidle does not occur in time, the page is captured nevertheless, and report.softTimeouts names the event.",
    }),
    { group: 'Waiting', isUndone: true, addsMs: 0 },
  ),
  timeout: pageOption(
    milliseconds(5000, 120_000, 30_000, 'Navigation timeout in milliseconds. Time in the queue does not count.'),
    { group: 'Waiting', isUndone: true, addsMs: (timeout) => timeout },
  ),
  imageTimeout: pageOption(
    milliseconds(
      0,
      15_000,
      3000,
      'Maximum time to wait for images, in milliseconds. The wait ends when all images have loaded.',
    ),
    { group: 'Waiting', isUndone: true, addsMs: (timeout) => timeout },
  ),
  delay: pageOption(milliseconds(0, 15_000, 0, 'Additional time to wait after the page has loaded, in milliseconds.'), {
    group: 'Waiting',
    isUndone: true,
    addsMs: (delay) => delay,
  }),
  waitFor: pageOption(Type.Optional(waitForSchema), {
    group: 'Waiting',
    isUndone: true,
    addsMs: ({ timeout }) => timeout,
  }),

  headers: secretOption(
    Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        writeOnly: true,
        maxProperties: 50,
        additionalProperties: { type: 'string', maxLength: 8192 },
        examples: [{ Authorization: 'Bearer …' }],
        description:
          'HTTP request headers. Sent to the origin of the page only, and to the origins of headersFor. Not allowed: Host, Cookie, User-Agent, Accept-Language, and headers of the connection or of proxies.',
      }),
    ),
    { group: 'Credentials', shows: (headers) => Object.keys(headers).toSorted(), addsMs: 0 },
  ),
  headersFor: pageOption(
    Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 2048, examples: ['https://cdn.example.com'] }), {
        maxItems: 20,
        description: 'Other origins that are sent the headers of the request, such as https://cdn.example.com.',
      }),
    ),
    { group: 'Credentials', notInLink: isPublic, isUndone: false, addsMs: 0, needs: [{ option: 'headers' }] },
  ),
  cookies: secretOption(
    Type.Optional(
      Type.Array(cookieSchema, {
        maxItems: 100,
        writeOnly: true,
        description: 'Cookies that are set before the page is opened.',
      }),
    ),
    { group: 'Credentials', shows: (cookies) => cookies.map(({ name }) => name), addsMs: 0 },
  ),
  session: pageOption(
    optionalText(
      36,
      'ID of a session of the account (POST /sessions): the cookies and the storage that its login left are set before the page is opened. The cookies of the request take precedence.',
      { examples: ['0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77'] },
    ),
    {
      group: 'Credentials',
      notInLink: 'a link is public, and would show what is behind the login',
      isUndone: false,
      addsMs: 0,
    },
  ),
  auth: secretOption(Type.Optional(authSchema), {
    group: 'Credentials',
    shows: 'presence',
    addsMs: 0,
    needs: [{ option: 'url', because: 'supplied html has no origin that could request it' }],
  }),

  block: pageOption(blockSchema, {
    group: 'Page',
    isUndone: (block) => !Object.values(block).some(Boolean),
    addsMs: 0,
  }),
  hide: pageOption(
    optionalSelectors(
      'Elements that are not shown but keep their place, also those that are added later: up to 100 CSS selectors.',
    ),
    { group: 'Page', isUndone: true, addsMs: 0 },
  ),
  remove: pageOption(
    optionalSelectors(
      'Elements that are left out and take no place, also those that are added later: up to 100 CSS selectors.',
    ),
    { group: 'Page', isUndone: true, addsMs: 0 },
  ),
  click: pageOption(
    optionalSelectors(
      'Elements to click after load and before waitFor, in order, up to 10 CSS selectors. The browser waits for each element for up to 5 seconds, and if the click opens a page, for the rest of timeout until that has loaded. The capture fails if one cannot be clicked.',
      10,
    ),
    {
      group: 'Page',
      isUndone: false,
      // A navigation after the clicks has the same timeout as the first navigation.
      addsMs: ({ length }, { timeout }) => (length === 0 ? 0 : timeout + length * clickTimeoutMs),
    },
  ),
  steps: pageOption(Type.Optional(stepsSchema), {
    group: 'Page',
    isUndone: false,
    // All navigations of the steps together have the same timeout as the first navigation.
    addsMs: (steps, { timeout }) => timeout + timeoutOfSteps(steps),
    excludes: ['click'],
  }),
  javaScript: pageOption(
    Type.Optional(
      Type.Boolean({
        default: true,
        description: 'false: scripts of the page and its frames do not run, and noscript is shown.',
      }),
    ),
    { group: 'Page', isUndone: false, addsMs: 0 },
  ),
  freeze: pageOption(Type.Optional(freezeSchema), {
    group: 'Page',
    isUndone: false,
    addsMs: freezeTimeoutMs,
    needs: [{ option: 'antiBot', values: [false], because: 'pages can detect a frozen clock' }],
  }),
  css: secretOption(
    optionalText(maxCodeBytes, 'Style sheet that is added to the page: up to 64 KiB.', { writeOnly: true }),
    { group: 'Page', shows: 'presence', addsMs: 0 },
  ),
  script: secretOption(
    optionalText(
      maxCodeBytes,
      'JavaScript that runs in the page after load, and before click, steps and waitFor: up to 64 KiB. It is the body of an async function and may take up to 5 seconds. Its error is in report.scriptError.',
      { writeOnly: true },
    ),
    {
      group: 'Page',
      shows: 'presence',
      // A navigation after the script has the same timeout as the first navigation.
      addsMs: (_shown, { timeout }) => timeout + scriptTimeoutMs,
      needs: [{ option: 'javaScript', values: [true] }],
    },
  ),
  extract: pageOption(
    Type.Optional(
      Type.Array(oneOf(extractNames), {
        minItems: 1,
        maxItems: extractNames.length,
        uniqueItems: true,
        description:
          'Parts of the page to return as data.extracted, in the state of the page at the time of the capture: any of text, html, markdown, links and metadata, at most 1 MiB each. They are stored as long as the file. Frames are left out.',
      }),
    ),
    { group: 'Page', notInLink: isFile, isUndone: true, addsMs: extractTimeoutMs },
  ),
  extractFields: pageOption(Type.Optional(extractFieldsSchema), {
    group: 'Page',
    notInLink: isFile,
    isUndone: true,
    addsMs: extractTimeoutMs,
  }),

  region: requestOption(
    oneOf(['auto', ...regions], {
      default: 'auto',
      description:
        'Region in which the page is rendered. auto prefers the home region of the operator and falls back to another region.',
    }),
    { group: 'Visitor' },
  ),
  antiBot: pageOption(
    Type.Boolean({
      default: false,
      description: 'Render with a browser that avoids bot detection. Costs one more token.',
    }),
    { group: 'Visitor', isUndone: (antiBot) => !antiBot, addsMs: 0 },
  ),
  locale: pageOption(
    optionalText(
      35,
      'Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.',
      { minLength: 2, examples: ['de-DE'] },
    ),
    { group: 'Visitor', isUndone: false, addsMs: 0 },
  ),
  timezone: pageOption(
    optionalText(64, 'Time zone of the visitor, a name of the IANA time zone database.', {
      examples: ['Europe/Berlin'],
    }),
    { group: 'Visitor', isUndone: false, addsMs: 0 },
  ),
  geolocation: pageOption(Type.Optional(geolocationSchema), { group: 'Visitor', isUndone: false, addsMs: 0 }),
  userAgent: pageOption(
    optionalText(
      512,
      'User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.',
      {
        examples: [
          'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
        ],
      },
    ),
    { group: 'Visitor', isUndone: false, addsMs: 0 },
  ),
  ignoreTlsErrors: pageOption(
    optionalSwitch(
      'Capture the page and all that it loads although certificates are expired, self-signed or for another name. Only where the operator allows it, for the service and for the account.',
    ),
    { group: 'Visitor', isUndone: false, addsMs: 0 },
  ),

  responseCache: requestOption(responseCacheSchema, { group: 'Cache and storage' }),
  cdnTtl: requestOption(
    Type.Integer({
      exclusiveMinimum: 60,
      maximum: maxLifetimeSeconds,
      default: 86_400,
      description: 'Time for which the file is kept, in seconds. Ignored when persistence is enabled.',
    }),
    { group: 'Cache and storage' },
  ),
  persistence: requestOption(persistenceSchema, {
    group: 'Cache and storage',
    notInLink: 'the file of a link ends with cdnTtl',
  }),

  background: requestOption(
    Type.Boolean({ default: false, description: 'Queue the capture and respond immediately.' }),
    { group: 'Delivery', notInLink: isFile },
  ),
  webhook: requestOption(Type.Optional(webhookSchema), {
    group: 'Delivery',
    notInLink: isFile,
    needs: [{ option: 'background', values: [true] }],
  }),
  failOn: pageOption(Type.Optional(failOnSchema), {
    group: 'Delivery',
    isUndone: ({ consoleErrors }) => consoleErrors !== true,
    addsMs: 0,
  }),
  diagnostics: pageOption(
    optionalSwitch(
      'Keep console messages, requests, steps and waits of the capture, for GET /captures/{uuid}/diagnostics. A failed capture always has them.',
    ),
    { group: 'Delivery', isUndone: false, addsMs: 0 },
  ),
};

type Table = typeof optionTable;
export type OptionName = keyof Table;

type NameOfKind<Kind> = { [Name in OptionName]: Table[Name]['kind'] extends Kind ? Name : never }[OptionName];
export type PageOptionName = NameOfKind<'page'>;
export type SecretOptionName = NameOfKind<'secret'>;

export const optionNames = Object.keys(optionTable) as readonly OptionName[];

const namesOfKind = (kind: Table[OptionName]['kind']) => optionNames.filter((name) => optionTable[name].kind === kind);

export const pageOptionNames = namesOfKind('page') as readonly PageOptionName[];
export const secretOptionNames = namesOfKind('secret') as readonly SecretOptionName[];

/** Schemas of the options by name. */
export const optionSchemas = Object.fromEntries(
  optionNames.map((name) => [name, optionTable[name].schema]),
) as unknown as { -readonly [Name in OptionName]: Table[Name]['schema'] };

/** The options by heading. Options whose group is null, which determine the source and the form of the response, have no heading. */
export const optionGroups = groupTitles.map((title) => ({
  title,
  options: optionNames.filter((name) => optionTable[name].group === title),
}));

/**
 * Options that a signed link cannot have, by dotted path, with the reasons. Links are public and can be opened repeatedly. See
 * docs/capture-links.md.
 */
export const linkRefusals: ReadonlyMap<string, string> = new Map([
  ...optionNames.flatMap((name) => {
    const { notInLink } = optionTable[name];
    return notInLink === undefined ? [] : [[name, notInLink] as const];
  }),
  ...['pdf.encryption', 'steps.type', 'steps.select'].map((path) => [path, isPublic] as const),
]);
