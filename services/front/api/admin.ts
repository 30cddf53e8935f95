import { createHash, randomUUIDv7, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import {
  type Account,
  type AccountRecord,
  type Accounts,
  withDefaultLimits,
} from '@webcapture/shared/accounts/accounts.ts';
import type { AccountLimits } from '@webcapture/shared/accounts/limits.ts';
import type { Keys } from '../auth/keys.ts';
import {
  accountSchema,
  type AccountView,
  type ChangeAccount,
  changeAccountSchema,
  type CreateAccount,
  createAccountSchema,
} from '@webcapture/shared/api/account.ts';
import {
  type CreateAccountKey,
  createAccountKeySchema,
  newKeySchema,
  revokedKeySchema,
  type RevokeKeyQuery,
  revokeKeyQuerySchema,
  scopes as allScopes,
} from '@webcapture/shared/api/api-key.ts';
import { type PageQuery, pageQuerySchema, pageSchema } from '@webcapture/shared/api/capture-list.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import { type Authenticator, bearerToken } from '../auth/authenticator.ts';
import { dateOrNull, type KeyIssuer, newKeyView, parseExpiry, revokedKeyView } from '../auth/key-issuer.ts';
import { jsonBody, pageQuery } from '../validation/input.ts';
import { adminCapturesRoutes, type AdminCapturesDeps } from './admin-captures.ts';
import { adminFleetRoutes, type AdminFleetDeps } from './admin-fleet.ts';
import { adminUsageRoute, type AdminUsageDeps } from './admin-usage.ts';
import { adminOperation, adminRefusals, example, failureAnswers, sendData, successAnswer } from './answers.ts';
import { accountExample, bodyExamples, keyExample, newKeyExample } from './account-examples.ts';
import { defaultScopes, revokeKeyQuery } from './keys.ts';

export interface AdminDeps extends AdminFleetDeps, AdminCapturesDeps, AdminUsageDeps {
  /** If undefined, the admin endpoints are disabled. */
  readonly adminToken: string | undefined;
  /** Default limits of accounts. */
  readonly defaultLimits: AccountLimits;
  readonly accounts: Accounts;
  readonly authenticator: Authenticator;
  readonly keys: Keys;
  readonly keyIssuer: KeyIssuer;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** All routes under /admin. They require the operator's token, which is checked before the rest of the request. */
export async function adminRoutes(app: FastifyInstance, deps: AdminDeps): Promise<void> {
  await app.register(async (admin) => {
    admin.addHook('onRequest', async ({ headers }) => {
      checkAdminToken(headers.authorization, deps.adminToken);
    });
    accountsRoutes(admin, deps);
    keysRoutes(admin, deps);
    adminFleetRoutes(admin, deps);
    adminCapturesRoutes(admin, deps);
    adminUsageRoute(admin, deps);
  });
}

/** GET and POST /admin/accounts, PATCH /admin/accounts/{id}. */
function accountsRoutes(app: FastifyInstance, { accounts, authenticator, defaultLimits, now }: AdminDeps): void {
  app.get<{ Querystring: PageQuery }>('/admin/accounts', {
    schema: {
      operationId: 'listAccounts',
      ...adminOperation,
      summary: 'List all accounts, newest first',
      description: 'Includes suspended accounts. The list ends when nextCursor is null.',
      querystring: pageQuerySchema,
      response: {
        200: successAnswer('One page of the list.', pageSchema(accountSchema), {
          accounts: example('A list of one account', success({ items: [accountExample], nextCursor: null })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    ...pageQuery,
    handler: async (request, reply) => {
      const { items, nextCursor } = await accounts.list(request.query);
      const views = items.map((record) => accountView(withDefaultLimits(record, defaultLimits)));
      return sendData(reply, { items: views, nextCursor });
    },
  });

  app.post<{ Body: CreateAccount }>('/admin/accounts', {
    schema: {
      operationId: 'createAccount',
      ...adminOperation,
      summary: 'Create an account',
      description:
        'Limits that are not set default to those of the operator. The account cannot be used until it has an API key.',
      body: createAccountSchema,
      response: {
        200: successAnswer('The account.', accountSchema, { created: example('Created', success(accountExample)) }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.createAccount },
    ...jsonBody(createAccountSchema),
    handler: async (request, reply) => {
      const { ratePerMinute } = request.body;
      const account = {
        id: randomUUIDv7(),
        createdAt: now(),
        ...defaultLimits,
        // A custom rate needs a matching burst.
        ...(ratePerMinute === undefined ? {} : { burst: ratePerMinute }),
        ...request.body,
      };
      await accounts.create(account);
      return sendData(reply, accountView(account));
    },
  });

  app.patch<{ Params: { id: string }; Body: ChangeAccount }>('/admin/accounts/:id', {
    schema: {
      operationId: 'changeAccount',
      ...adminOperation,
      summary: 'Update, suspend or resume an account',
      description:
        'Changes the given fields: name, limits, isolation, allowIgnoreTlsErrors, suspended. Changes take effect within a second. The API keys of a suspended account work again when the account is resumed.',
      params: { type: 'object', properties: { id: { type: 'string', description: 'ID of the account.' } } },
      body: changeAccountSchema,
      response: {
        200: successAnswer('The updated account.', accountSchema, {
          changed: example('Changed', success(accountExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.changeAccount },
    ...jsonBody(changeAccountSchema),
    handler: async (request, reply) => {
      const { id } = request.params;
      const changed = await accounts.change(id, (record) =>
        changedAccount(withDefaultLimits(record, defaultLimits), request.body, now()),
      );
      if (changed === null) throw new ServiceError('NOT_FOUND', 'There is no account with this id.');
      authenticator.forgetAccount(id);
      return sendData(reply, accountView(withDefaultLimits(changed, defaultLimits)));
    },
  });
}

/** POST /admin/keys, DELETE /admin/keys/{id}: keys of any account. */
function keysRoutes(app: FastifyInstance, { accounts, keys, keyIssuer, now }: AdminDeps): void {
  app.post<{ Body: CreateAccountKey }>('/admin/keys', {
    schema: {
      operationId: 'createAccountKey',
      ...adminOperation,
      summary: 'Create an API key for an account',
      description: 'The first API key of an account has all scopes unless the request names others.',
      body: createAccountKeySchema,
      response: {
        200: successAnswer('The new key. The key is shown only once.', newKeySchema, {
          created: example('A new key', success(newKeyExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    config: { requestExamples: bodyExamples.createAccountKey },
    ...jsonBody(createAccountKeySchema),
    handler: async (request, reply) => {
      const { accountId: account, name, scopes: asked, expiresAt: expiry } = request.body;
      const expiresAt = parseExpiry(expiry, now());
      if ((await accounts.get(account)) === null) {
        throw new ServiceError('NOT_FOUND', 'There is no account with this accountId.');
      }
      const scopes = asked ?? ((await keys.hasAny(account)) ? defaultScopes : allScopes);
      const made = await keyIssuer.make({ account, name, scopes, expiresAt });
      return sendData(reply, newKeyView(made, now()));
    },
  });

  app.delete<{ Params: { id: string }; Querystring: RevokeKeyQuery }>('/admin/keys/:id', {
    schema: {
      operationId: 'revokeAccountKey',
      ...adminOperation,
      summary: 'Revoke an API key of any account',
      description:
        'The API key stops working within a second. With cascade=true, all keys that were created with it are revoked too; up to 1000 keys in one request.',
      params: { type: 'object', properties: { id: { type: 'string', description: 'ID of the key.' } } },
      querystring: revokeKeyQuerySchema,
      response: {
        200: successAnswer('The revoked key.', revokedKeySchema, {
          revoked: example('Revoked', success({ ...keyExample, status: 'revoked', revokedAt: keyExample.createdAt })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    ...revokeKeyQuery,
    handler: async (request, reply) => {
      const cascade = request.query.cascade === 'true';
      const revoked = await keyIssuer.revoke(null, request.params.id, { cascade });
      return sendData(reply, revokedKeyView(revoked, cascade, now()));
    },
  });
}

/**
 * Accepts only the operator's token. The comparison takes constant time.
 *
 * @param expected the operator's token; undefined if none is configured, which disables the admin endpoints
 * @throws ServiceError NOT_FOUND, UNAUTHORIZED
 */
export function checkAdminToken(authorization: string | undefined, expected: string | undefined): void {
  if (expected === undefined) {
    throw new ServiceError('NOT_FOUND', 'There are no admin endpoints: the operator has set no admin token.');
  }
  const token = bearerToken(authorization);
  if (token === null || !timingSafeEqual(digest(token), digest(expected))) {
    throw new ServiceError(
      'UNAUTHORIZED',
      'The admin token is missing or wrong. Send it as "Authorization: Bearer <WEBCAPTURE_ADMIN_TOKEN>".',
    );
  }
}

/** Hashes a token. All hashes have the same length, so comparing them does not reveal the length of a token. */
const digest = (token: string) => createHash('sha256').update(token).digest();

/** Returns the view of an account for operators. */
function accountView(account: Account): AccountView {
  const { id, name, tokenQuota, ratePerMinute, burst, maxInFlight, maxQueued, isolation, suspendedAt } = account;
  const { maxQueuedBytes, maxStoredBytes, maxPersistedBytes } = account;
  return {
    id,
    name,
    createdAt: new Date(account.createdAt).toISOString(),
    tokenQuota,
    ratePerMinute,
    burst,
    maxInFlight,
    maxQueued,
    maxQueuedBytes,
    maxStoredBytes,
    maxPersistedBytes,
    isolation: isolation ?? 'context',
    allowIgnoreTlsErrors: account.allowIgnoreTlsErrors ?? false,
    suspended: suspendedAt !== undefined,
    suspendedAt: dateOrNull(suspendedAt),
  };
}

/** Returns the record with the changes of a request. A repeated suspension keeps the time of the first one. */
export function changedAccount(record: AccountRecord, change: ChangeAccount, now: number): AccountRecord {
  const { suspended, ...fields } = change;
  const { suspendedAt, ...rest } = { ...record, ...fields };
  const isSuspended = suspended ?? suspendedAt !== undefined;
  return isSuspended ? { ...rest, suspendedAt: suspendedAt ?? now } : rest;
}
