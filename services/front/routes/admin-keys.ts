import {
  createAccountKeySchema,
  keySchema,
  newKeySchema,
  type CreateAccountKey,
} from '@webcapture/shared/contract/api-key.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { scopes as allScopes } from '@webcapture/shared/contract/scopes.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import type { FastifyInstance } from 'fastify';
import { keyView, newKeyView } from '../accounts/key-views.ts';
import { parseExpiry } from '../accounts/parse-expiry.ts';
import type { FrontDeps } from '../deps.ts';
import { bodyExamples, keyExample, newKeyExample } from '../openapi/account-examples.ts';
import { example, failureAnswers, successAnswer } from '../openapi/answers.ts';
import { jsonBody } from '../validation/json-body.ts';
import { defaultScopes } from './keys.ts';

const security = [{ adminToken: [] }];
const tags = ['admin'];

/** POST /admin/keys, DELETE /admin/keys/{id}: keys of any account. */
export function adminKeysRoutes(app: FastifyInstance, { accounts, keys, keyDesk, now }: FrontDeps): void {
  app.post<{ Body: CreateAccountKey }>('/admin/keys', {
    schema: {
      operationId: 'createAccountKey',
      tags,
      security,
      summary: 'Make a key for an account',
      description: 'The first key of an account has all scopes unless others are asked for.',
      body: createAccountKeySchema,
      response: {
        200: successAnswer('The key: this is the only time that it is shown.', newKeySchema, {
          created: example('A new key', success(newKeyExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL_ERROR']),
      },
    },
    config: { requestExamples: bodyExamples.createAccountKey },
    ...jsonBody(createAccountKeySchema),
    handler: async (request, reply) => {
      const { accountId: account, name, scopes: asked, expiresAt: expiry } = request.body;
      const expiresAt = parseExpiry(expiry, now());
      if ((await accounts.get(account)) === null) {
        throw new ServiceError('NOT_FOUND', 'There is no account of this accountId.');
      }
      const scopes = asked ?? ((await keys.hasAny(account)) ? defaultScopes : allScopes);
      const made = await keyDesk.make({ account, name, scopes, ...(expiresAt === undefined ? {} : { expiresAt }) });
      return reply.header('cache-control', 'no-store').send(success(newKeyView(made, now())));
    },
  });

  app.delete<{ Params: { id: string } }>('/admin/keys/:id', {
    schema: {
      operationId: 'revokeAccountKey',
      tags,
      security,
      summary: 'Revoke a key of any account',
      description: 'The key ends within a second.',
      params: { type: 'object', properties: { id: { type: 'string', description: 'The id of the key.' } } },
      response: {
        200: successAnswer('The key as it stands.', keySchema, {
          revoked: example('Revoked', success({ ...keyExample, status: 'revoked', revokedAt: keyExample.createdAt })),
        }),
        ...failureAnswers(['UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL_ERROR']),
      },
    },
    handler: async (request, reply) => {
      const record = await keyDesk.revoke(null, request.params.id);
      return reply.header('cache-control', 'no-store').send(success(keyView(record, now())));
    },
  });
}
