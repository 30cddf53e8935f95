import {
  createKeySchema,
  keySchema,
  newKeySchema,
  rotateKeySchema,
  type CreateKey,
  type RotateKey,
} from '@webcapture/shared/api/api-key.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { pageQuerySchema, pageSchema, type PageQuery } from '@webcapture/shared/api/capture-list.ts';
import type { Keys } from '../auth/keys.ts';
import type { FastifyInstance } from 'fastify';
import { checkScopes, keyView, newKeyView, parseExpiry, type KeyIssuer } from '../auth/key-issuer.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { example, failureAnswers, keyRefusals, sendData, successAnswer } from './answers.ts';
import { bodyExamples, keyExample, newKeyExample } from './examples.ts';
import { jsonBody, pageQuery } from '../validation/input.ts';

const security = [{ apiKey: [] }];
const tags = ['account'];
const keyParams = { type: 'object', properties: { id: { type: 'string', description: 'ID of the key.' } } };

/** What a key may do when nothing else was asked for. */
export const defaultScopes = ['capture', 'read'] as const;

export interface KeysDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly keys: Pick<Keys, 'list'>;
  readonly keyIssuer: Pick<KeyIssuer, 'make' | 'rotate' | 'revoke'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET and POST /keys, POST /keys/{id}/rotate, DELETE /keys/{id}: the account holder's own keys. */
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
      description: 'Requires the scope manage. The new key can have only scopes of the key that creates it.',
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
      const { key, account } = callerOf(request);
      const { name, scopes = [...defaultScopes], expiresAt: expiry } = request.body;
      const expiresAt = parseExpiry(expiry, now());
      checkScopes(scopes, key.scopes);
      const made = await keyIssuer.make({
        account: account.id,
        name,
        scopes,
        ...(expiresAt === undefined ? {} : { expiresAt }),
      });
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
        'Requires the scope manage. Creates a key with the same name, scopes and lifetime. The old key stops working after graceSeconds.',
      params: keyParams,
      body: rotateKeySchema,
      response: {
        200: successAnswer('The new key. The key is shown only once.', newKeySchema, {
          rotated: example('The new key', success(newKeyExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT', ...keyRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.rotateKey },
    onRequest,
    ...jsonBody(rotateKeySchema, { optional: true }),
    handler: async (request, reply) => {
      const { key, account } = callerOf(request);
      const graceMs = request.body.graceSeconds * 1000;
      const made = await keyIssuer.rotate(account.id, request.params.id, graceMs, key.scopes);
      return sendData(reply, newKeyView(made, now()));
    },
  });

  app.delete<{ Params: { id: string } }>('/keys/:id', {
    schema: {
      operationId: 'revokeKey',
      tags,
      security,
      summary: 'Revoke an API key',
      description: 'Requires the scope manage. The key stops working within a second. A key can revoke itself.',
      params: keyParams,
      response: {
        200: successAnswer('The revoked key.', keySchema, {
          revoked: example('Revoked', success({ ...keyExample, status: 'revoked', revokedAt: keyExample.createdAt })),
        }),
        ...failureAnswers(['NOT_FOUND', ...keyRefusals]),
      },
    },
    onRequest,
    handler: async (request, reply) => {
      const record = await keyIssuer.revoke(callerOf(request).account.id, request.params.id);
      return sendData(reply, keyView(record, now()));
    },
  });
}
