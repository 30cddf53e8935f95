import {
  createKeySchema,
  keySchema,
  newKeySchema,
  revokedKeySchema,
  revokeKeyQuerySchema,
  rotateKeySchema,
  type CreateKey,
  type RevokeKeyQuery,
  type RotateKey,
} from '@webcapture/shared/api/api-key.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { pageQuerySchema, pageSchema, type PageQuery } from '@webcapture/shared/api/capture-list.ts';
import type { Keys } from '../auth/keys.ts';
import type { FastifyInstance } from 'fastify';
import { keyView, newKeyView, parseExpiry, revokedKeyView, type KeyIssuer } from '../auth/key-issuer.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { example, failureAnswers, keyRefusals, sendData, successAnswer } from './answers.ts';
import { bodyExamples, keyExample, newKeyExample } from './account-examples.ts';
import { jsonBody, pageQuery, queryOf } from '../validation/input.ts';

const security = [{ apiKey: [] }];
const tags = ['account'];
const keyParams = { type: 'object', properties: { id: { type: 'string', description: 'ID of the key.' } } };

export const revokeKeyQuery = queryOf(revokeKeyQuerySchema);

/** Scopes of a new key if the request names none. */
export const defaultScopes = ['capture', 'read'] as const;

export interface KeysDeps {
  readonly authenticator: Authenticator;
  readonly keys: Keys;
  readonly keyIssuer: KeyIssuer;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET and POST /keys, POST /keys/{id}/rotate and DELETE /keys/{id}: the keys of the caller's account. */
export function keysRoutes(app: FastifyInstance, { authenticator, keys, keyIssuer, now }: KeysDeps): void {
  const onRequest = authenticateFirst(authenticator, 'manage');

  app.get<{ Querystring: PageQuery }>('/keys', {
    schema: {
      operationId: 'listKeys',
      tags,
      security,
      summary: 'List the API keys of the account, newest first',
      description:
        'Requires the scope manage. The list includes revoked and expired keys. The keys themselves are not shown.',
      querystring: pageQuerySchema,
      response: {
        200: successAnswer('One page of the list.', pageSchema(keySchema), {
          keys: example('A list of one key', success({ items: [keyExample], nextCursor: null })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    onRequest,
    ...pageQuery,
    handler: async (request, reply) => {
      const { items, nextCursor } = await keys.list(callerOf(request).account.id, request.query);
      const data = { items: items.map((record) => keyView(record, now())), nextCursor };
      return sendData(reply, data);
    },
  });

  app.post<{ Body: CreateKey }>('/keys', {
    schema: {
      operationId: 'createKey',
      tags,
      security,
      summary: 'Create an API key',
      description:
        'Requires the scope manage. The new key can have only scopes of the key that creates it, and expires no later; without expiresAt it expires with it.',
      body: createKeySchema,
      response: {
        200: successAnswer('The new key. The key is shown only once.', newKeySchema, {
          created: example('A new key', success(newKeyExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.createKey },
    onRequest,
    ...jsonBody(createKeySchema),
    handler: async (request, reply) => {
      const { name, scopes = [...defaultScopes], expiresAt: expiry } = request.body;
      const expiresAt = expiry === null ? null : parseExpiry(expiry, now());
      const made = await keyIssuer.makeWith(callerOf(request).key, { name, scopes, expiresAt });
      return sendData(reply, newKeyView(made, now()));
    },
  });

  app.post<{ Params: { id: string }; Body: RotateKey }>('/keys/:id/rotate', {
    schema: {
      operationId: 'rotateKey',
      tags,
      security,
      summary: 'Rotate an API key',
      description:
        'Requires the scope manage. Creates a key with the same name, scopes and lifetime. The old key stops working after graceSeconds, and the key that it replaced stops at once. Rotating an old key again replaces the key that was created the first time.',
      params: keyParams,
      body: rotateKeySchema,
      response: {
        200: successAnswer('The new key. The key is shown only once.', newKeySchema, {
          rotated: example('The new key', success(newKeyExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT', ...keyRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.rotateKey, isBodyOptional: true },
    onRequest,
    ...jsonBody(rotateKeySchema, { optional: true }),
    handler: async (request, reply) => {
      const graceMs = request.body.graceSeconds * 1000;
      const made = await keyIssuer.rotate(callerOf(request).key, request.params.id, graceMs);
      return sendData(reply, newKeyView(made, now()));
    },
  });

  app.delete<{ Params: { id: string }; Querystring: RevokeKeyQuery }>('/keys/:id', {
    schema: {
      operationId: 'revokeKey',
      tags,
      security,
      summary: 'Revoke an API key',
      description:
        'Requires the scope manage. The key stops working within a second. A key can revoke itself. With cascade=true, all keys that were created with it are revoked too, except the key that sends the request and what that key created; up to 1000 keys in one request.',
      params: keyParams,
      querystring: revokeKeyQuerySchema,
      response: {
        200: successAnswer('The revoked key.', revokedKeySchema, {
          revoked: example('Revoked', success({ ...keyExample, status: 'revoked', revokedAt: keyExample.createdAt })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'NOT_FOUND', ...keyRefusals]),
      },
    },
    onRequest,
    ...revokeKeyQuery,
    handler: async (request, reply) => {
      const { key, account } = callerOf(request);
      const cascade = request.query.cascade === 'true';
      const revoked = await keyIssuer.revoke(account.id, request.params.id, { cascade, keep: key.id });
      return sendData(reply, revokedKeyView(revoked, cascade, now()));
    },
  });
}
