import { type Static, Type } from 'typebox';
import { captureRequestSchema } from './capture-request.ts';
import { maxLifetimeSeconds } from './option-schemas.ts';

/** Maximum number of sessions of an account. */
export const maxSessions = 100;

/** Options of a capture that a login does not have, because it opens a site, is awaited, and is not repeated. */
export const optionsWithoutLogin = [
  'html',
  'responseType',
  'responseCache',
  'persistence',
  'background',
  'webhook',
] as const;

const nameSchema = Type.String({
  pattern: '^(?=.*\\S)[^\\x00-\\x1f\\x7f]{1,200}$',
  description: 'Name of the session, for lists.',
  examples: ['Reports'],
});

/** The body of `POST /sessions`. */
export const createSessionSchema = Type.Object(
  {
    ...Type.Omit(captureRequestSchema, [...optionsWithoutLogin, 'url']).properties,
    url: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'Absolute http or https URL of the page that logs in.',
    }),
    name: Type.Optional(nameSchema),
    expiresIn: Type.Integer({
      minimum: 60,
      maximum: maxLifetimeSeconds,
      default: 86_400,
      description: 'Time for which the session is kept, in seconds.',
    }),
  },
  {
    additionalProperties: false,
    description:
      'Options of the capture that logs in: those of POST /capture, except html, responseType, responseCache, persistence, background and webhook.',
  },
);

export type CreateSession = Static<typeof createSessionSchema>;

/** A session without its values. */
export const sessionSchema = Type.Object({
  sessionId: Type.String({
    format: 'uuid',
    description: 'Value of the option session. Also the UUID of the capture that logged in, for GET /captures/{uuid}.',
  }),
  name: Type.Union([nameSchema, Type.Null()]),
  url: Type.String({ description: 'URL of the page that logged in.' }),
  sites: Type.Array(Type.String(), {
    description: 'Hosts that have cookies or storage in the session, at most 50.',
  }),
  createdAt: Type.String({ format: 'date-time', description: 'Time of the login.' }),
  expiresAt: Type.String({ format: 'date-time', description: 'Time at which the session is removed.' }),
});

export type Session = Static<typeof sessionSchema>;

/** The `data` of `GET /sessions`. */
export const sessionListSchema = Type.Object({
  sessions: Type.Array(sessionSchema, { maxItems: maxSessions, description: 'Newest first.' }),
});
