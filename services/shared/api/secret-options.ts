import { type Static, Type } from 'typebox';
import type { PdfEncryption } from './document-options.ts';

const kibibyte = 1024;

/** Maximum size of `css` and of `script` in UTF-8. */
export const maxCodeBytes = 64 * kibibyte;

/** Maximum total size of `headers`, `cookies` and `auth` in UTF-8. Servers accept less. */
export const maxCredentialBytes = 32 * kibibyte;

/** Maximum total size of all secrets of a capture as JSON in UTF-8, because a job contains them sealed. */
export const maxSecretsBytes = 192 * kibibyte;

const cookieSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 256 }),
    value: Type.String({ maxLength: 4096 }),
    url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'http or https URL whose host gets the cookie, and no other host. Excludes domain and path.',
      }),
    ),
    domain: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'Domain that gets the cookie, with its subdomains. Without domain and url: the host of the page.',
      }),
    ),
    path: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'Path of the cookie; / if not set.' }),
    ),
    secure: Type.Optional(
      Type.Boolean({
        description:
          'Send the cookie over https only. Without domain, the default is whether url, or the URL of the page, is https.',
      }),
    ),
    httpOnly: Type.Optional(Type.Boolean({ description: 'Hide the cookie from scripts.' })),
    sameSite: Type.Optional(
      Type.Unsafe<'Strict' | 'Lax' | 'None'>({
        type: 'string',
        enum: ['Strict', 'Lax', 'None'],
        description: 'None requires secure.',
      }),
    ),
  },
  { additionalProperties: false },
);

const authSchema = Type.Object(
  {
    username: Type.String({ minLength: 1, maxLength: 1024 }),
    password: Type.String({ maxLength: 1024 }),
  },
  {
    additionalProperties: false,
    writeOnly: true,
    description:
      'User name and password for HTTP basic and digest authentication. Sent to the origin of the page only.',
  },
);

/**
 * Options of `POST /capture` with secret values. None has a default, and as with {@link pageOptions}, validation, types and OpenAPI are
 * derived from this list. The values are stored sealed and never shown; see `docs/operations.md`. `writeOnly` keeps them out of
 * validation messages.
 */
export const secretOptions = {
  headers: Type.Optional(
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
  cookies: Type.Optional(
    Type.Array(cookieSchema, {
      maxItems: 100,
      writeOnly: true,
      description: 'Cookies that are set before the page is opened.',
    }),
  ),
  auth: Type.Optional(authSchema),
  css: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxCodeBytes,
      writeOnly: true,
      description: 'Style sheet that is added to the page: up to 64 KiB.',
    }),
  ),
  script: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxCodeBytes,
      writeOnly: true,
      description:
        'JavaScript that runs in the page after load, and before click and waitFor: up to 64 KiB. It is the body of an async function and may take up to 5 seconds. Its error is in report.scriptError.',
    }),
  ),
} as const;

export const secretOptionNames = Object.keys(secretOptions) as readonly (keyof typeof secretOptions)[];

type Optional<T> = { readonly [name in keyof T]?: T[name] };

/** The secrets of a capture; those that are not set are absent. */
export type CaptureSecrets = Optional<Readonly<Static<ReturnType<typeof secretsObject>>>> & {
  /** `pdf.encryption`, the only secret that is nested in another option. */
  readonly pdfEncryption?: PdfEncryption;
};

const secretsObject = () => Type.Object(secretOptions);

/** Returns the name of a secret for messages, which is its name in requests. */
export const secretLabel = (name: keyof CaptureSecrets): string => (name === 'pdfEncryption' ? 'pdf.encryption' : name);

/** The public part of the secrets of a capture: names of headers and cookies, and whether the others are set. */
export interface SecretNames {
  readonly headers?: readonly string[];
  readonly cookies?: readonly string[];
  readonly auth?: true;
  readonly css?: true;
  readonly script?: true;
  readonly pdfEncryption?: true;
}
