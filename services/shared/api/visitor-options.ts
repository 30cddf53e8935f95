import { Type } from 'typebox';

/**
 * Options of `POST /capture` that describe the visitor: language, time zone, location and browser. None has a default: without them, the
 * browser decides, which may be one of the operator. As with {@link pageOptions}, everything else is derived from this list.
 * `brokenVisitorRules` of the front validates their values further.
 */
export const visitorOptions = {
  locale: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 35,
      examples: ['de-DE'],
      description:
        'Language of the visitor, a BCP 47 language tag without extensions: decides Accept-Language, navigator.language and how Intl formats numbers and dates.',
    }),
  ),
  timezone: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      examples: ['Europe/Berlin'],
      description: 'Time zone of the visitor, a name of the IANA time zone database.',
    }),
  ),
  geolocation: Type.Optional(
    Type.Object(
      {
        latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees north.' }),
        longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees east.' }),
        accuracy: Type.Number({ minimum: 0, maximum: 100_000, default: 10, description: 'Metres.' }),
      },
      {
        additionalProperties: false,
        description:
          'Place of the visitor, and the permission to ask for it. Browsers tell it to pages of https only, and to frames of other origins if the page allows it.',
      },
    ),
  ),
  userAgent: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 512,
      examples: [
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
      ],
      description:
        'User agent of the header and of navigator.userAgent. navigator.platform and the client hints agree with it; one that names no Chrome has no client hints.',
    }),
  ),
} as const;

/** Not one of the {@link visitorOptions}: the renderer and the name of the cache entry use the properties of the device instead. */
export const deviceOption = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    examples: ['iPhone 15'],
    description:
      'Name of a device (GET /devices lists them): its viewport, scale, touch screen, mobile layout and user agent. Fields of viewport and a userAgent of the request take precedence.',
  }),
);
