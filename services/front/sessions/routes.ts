import { captureRequestSchema, type CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import {
  type CreateSession,
  createSessionSchema,
  maxSessions,
  type Session,
  sessionListSchema,
  sessionSchema,
} from '@webcapture/shared/api/session.ts';
import type { SecretsKeys } from '@webcapture/shared/captures/sealed-secrets.ts';
import type { SessionRecord, Sessions } from '@webcapture/shared/captures/sessions.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  example,
  failureAnswers,
  keyRefusals,
  rateLimitHeaderSchemas,
  requestIdHeader,
  sendData,
  successAnswer,
} from '../api/answers.ts';
import {
  answerCapture,
  captureErrorCodes,
  type CaptureRouteDeps,
  idempotencyDocument,
  idempotentReplayedHeader,
  valuesOf,
  withRateLimitHeaders,
} from '../api/capture.ts';
import { authenticateCapture } from '../api/capture-body.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { fillInDevice } from '../capture/visitor-rules.ts';
import { authenticateFirst, callerOf, clientGone } from '../http/request-facts.ts';
import { callNats } from '../nats.ts';
import { explainErrors } from '../validation/explain-errors.ts';
import { findSession, readSession } from './find-session.ts';

export interface SessionsDeps extends Pick<CaptureRouteDeps, 'pipeline' | 'metrics'> {
  readonly authenticator: Authenticator;
  readonly sessions: Sessions;
  readonly secretsKeys?: SecretsKeys | undefined;
}

const sessionParams = {
  type: 'object',
  properties: { id: { type: 'string', description: 'ID of the session.' } },
};

const sessionRefusals = [...keyRefusals, 'NOT_FOUND'] as const;

const sessionExample: Session = {
  sessionId: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77',
  name: 'Reports',
  url: 'https://app.example.com/login',
  sites: ['app.example.com'],
  createdAt: '2026-01-31T12:00:00.000Z',
  expiresAt: '2026-02-01T12:00:00.000Z',
};

/** POST /sessions: a capture logs in, and the service keeps the cookies and the storage of that login. */
export function createSessionRoute(app: FastifyInstance, deps: SessionsDeps): void {
  const { authenticator, sessions, secretsKeys } = deps;
  app.post<{ Body: CreateSession }>('/sessions', {
    schema: { ...createSessionDocument, body: createSessionSchema },
    config: { requestExamples, headersDocument: idempotencyDocument, shedsLoad: true },
    onRequest: authenticateCapture(authenticator),
    preValidation: async ({ body }) => fillInDevice(body),
    schemaErrorFormatter: (errors) => new ServiceError('VALIDATION_ERROR', explainErrors(errors, createSessionSchema)),
    handler: async (request, reply) => {
      const caller = callerOf(request);
      const { id } = caller.account;
      if (secretsKeys === undefined) {
        const message = 'Sessions cannot be stored here: the operator has set no WEBCAPTURE_SECRETS_KEY to seal them.';
        throw new ServiceError('VALIDATION_ERROR', message);
      }
      const kept = await callNats(() => sessions.list(id), 'The sessions cannot be counted right now.');
      if (kept.length >= maxSessions) {
        const message = `The account has ${maxSessions} sessions, which is the maximum. Delete one, or wait until one expires.`;
        throw new ServiceError('CONFLICT', message);
      }
      const { name, expiresIn } = request.body;
      const call = {
        body: captureOf(request),
        caller,
        authorization: undefined,
        idempotencyKeys: valuesOf('idempotency-key', request.raw.rawHeaders),
        clientGone: clientGone(reply),
        login: { ...(name === undefined ? {} : { name }), lifetimeMs: 1000 * expiresIn },
      };
      return answerCapture(request, reply, call, deps, async ({ uuid, isReplayed }) => {
        if (isReplayed === true) void reply.header('idempotent-replayed', 'true');
        return sendData(reply, viewOf(await findSession(id, uuid, deps)));
      });
    },
  });
}

/** Returns the request of the capture that logs in, with all defaults. */
function captureOf(request: FastifyRequest<{ Body: CreateSession }>): CaptureRequest {
  const { name: _name, expiresIn: _lifetime, ...body } = request.body;
  const validate = request.compileValidationSchema(captureRequestSchema, 'body');
  if (validate(body) !== true) {
    throw new ServiceError('VALIDATION_ERROR', explainErrors(validate.errors ?? [], captureRequestSchema));
  }
  return body as CaptureRequest;
}

/** GET /sessions, GET and DELETE /sessions/{id}, for the account of the API key. */
export function sessionsRoutes(app: FastifyInstance, deps: SessionsDeps): void {
  const { authenticator, sessions } = deps;
  const common = { tags: ['captures'], security: [{ apiKey: [] }] };

  app.get('/sessions', {
    schema: {
      ...common,
      operationId: 'listSessions',
      summary: 'List the sessions of the account, newest first',
      description: `Requires the scope read. An account has at most ${maxSessions} sessions. Their cookies and storage are never shown.`,
      response: {
        200: successAnswer('The sessions of the account.', sessionListSchema, {
          sessions: example('A list of one session', success({ sessions: [sessionExample] })),
        }),
        ...failureAnswers(keyRefusals),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const found = await callNats(() => sessions.list(account.id), 'The sessions cannot be listed right now.');
      return sendData(reply, { sessions: found.map(viewOf) });
    },
  });

  app.get<{ Params: { id: string } }>('/sessions/:id', {
    schema: {
      ...common,
      operationId: 'getSession',
      summary: 'Get a session',
      description: 'Requires the scope read. The cookies and the storage of a session are never shown.',
      params: sessionParams,
      response: {
        200: successAnswer('The session.', sessionSchema, { session: example('A session', success(sessionExample)) }),
        ...failureAnswers(sessionRefusals),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    handler: async (request, reply) => sendData(reply, viewOf(await sessionOf(request, deps))),
  });

  app.delete<{ Params: { id: string } }>('/sessions/:id', {
    schema: {
      ...common,
      operationId: 'deleteSession',
      summary: 'Delete a session',
      description:
        'Requires the scope capture. Later captures and refreshes cannot use the session. Captures that are already queued use it. The site is not informed.',
      params: sessionParams,
      response: {
        200: successAnswer('The deleted session.', sessionSchema, {
          session: example('Deleted', success(sessionExample)),
        }),
        ...failureAnswers(sessionRefusals),
      },
    },
    onRequest: authenticateFirst(authenticator, 'capture'),
    handler: async (request, reply) => {
      const found = await sessionOf(request, deps);
      await callNats(() => sessions.delete(found), 'The session cannot be deleted right now.');
      return sendData(reply, viewOf(found));
    },
  });
}

/** @throws ServiceError NOT_FOUND; INTERNAL_ERROR */
async function sessionOf(request: FastifyRequest<{ Params: { id: string } }>, deps: SessionsDeps) {
  const found = await readSession(callerOf(request).account.id, request.params.id, deps);
  if (found === null) throw new ServiceError('NOT_FOUND', 'This account has no session of that id.');
  return found;
}

function viewOf({ uuid, name, url, sites, expiresAt }: SessionRecord): Session {
  return {
    sessionId: uuid,
    name: name ?? null,
    url,
    sites: [...sites],
    createdAt: new Date(timeOfUuid(uuid) ?? 0).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

const requestExamples = {
  form: example('Log in by a form', {
    url: 'https://app.example.com/login',
    steps: [
      { type: { selector: '#user', text: 'ann@example.com' } },
      { type: { selector: '#password', text: 'correct horse battery staple' } },
      { click: 'button[type=submit]' },
      { waitFor: '#account' },
    ],
    name: 'Reports',
    expiresIn: 86_400,
  }),
};

/** The OpenAPI description of POST /sessions, without body and headers. */
const createSessionDocument = {
  operationId: 'createSession',
  tags: ['captures'],
  summary: 'Log in and keep the session',
  description:
    'Requires the scope capture. Captures a page, usually with steps that log in, and keeps the cookies of all sites, and the localStorage and sessionStorage of the origins that the page was on, sealed. Captures of the account use them with the option session until they expire. It is a capture like any other: it costs as many tokens, counts against the same limits, and GET /captures/{sessionId} returns its picture, which shows whether the login succeeded.',
  security: [{ apiKey: [] }],
  response: {
    200: {
      ...successAnswer('The session.', sessionSchema, { session: example('A session', success(sessionExample)) }),
      headers: {
        ...requestIdHeader,
        ...rateLimitHeaderSchemas,
        'x-capture-uuid': { type: 'string', format: 'uuid', description: 'UUID of the capture that logged in.' },
        'idempotent-replayed': idempotentReplayedHeader,
      },
    },
    ...withRateLimitHeaders(failureAnswers([...captureErrorCodes, 'CONFLICT'])),
  },
};
