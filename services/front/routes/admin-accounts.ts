import { randomUUIDv7 } from 'node:crypto';
import {
  accountSchema,
  changeAccountSchema,
  createAccountSchema,
  type ChangeAccount,
  type CreateAccount,
} from '@webcapture/shared/contract/account.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { pageQuerySchema, pageSchema, type PageQuery } from '@webcapture/shared/contract/page.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { withDefaultLimits } from '@webcapture/shared/state/accounts.ts';
import type { FastifyInstance } from 'fastify';
import { accountView } from '../accounts/account-view.ts';
import { changedAccount } from '../accounts/change-account.ts';
import type { FrontDeps } from '../deps.ts';
import { accountExample, bodyExamples } from '../openapi/account-examples.ts';
import { example, failureAnswers, successAnswer } from '../openapi/answers.ts';
import { jsonBody } from '../validation/json-body.ts';
import { pageQuery } from '../validation/page-query.ts';

const security = [{ adminToken: [] }];
const tags = ['admin'];

/** GET and POST /admin/accounts, PATCH /admin/accounts/{id}. */
export function adminAccountsRoutes(app: FastifyInstance, { accounts, authenticator, config, now }: FrontDeps): void {
  const { defaultLimits } = config;

  app.get<{ Querystring: PageQuery }>('/admin/accounts', {
    schema: {
      operationId: 'listAccounts',
      tags,
      security,
      summary: 'All accounts, newest first',
      querystring: pageQuerySchema,
      response: {
        200: successAnswer('A part of the list.', pageSchema(accountSchema), {
          accounts: example('The only account', success({ items: [accountExample], nextCursor: null })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL_ERROR']),
      },
    },
    ...pageQuery,
    handler: async (request, reply) => {
      const { items, nextCursor } = await accounts.list(request.query);
      const views = items.map((record) => accountView(withDefaultLimits(record, defaultLimits)));
      return reply.header('cache-control', 'no-store').send(success({ items: views, nextCursor }));
    },
  });

  app.post<{ Body: CreateAccount }>('/admin/accounts', {
    schema: {
      operationId: 'createAccount',
      tags,
      security,
      summary: 'Make an account',
      description: "Limits that are left out are the operator's defaults. It can do nothing until it has a key.",
      body: createAccountSchema,
      response: {
        200: successAnswer('The account.', accountSchema, { created: example('Created', success(accountExample)) }),
        ...failureAnswers(['VALIDATION_ERROR', 'UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL_ERROR']),
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
        // A rate of its own brings a burst of its own.
        ...(ratePerMinute === undefined ? {} : { burst: ratePerMinute }),
        ...request.body,
      };
      await accounts.create(account);
      return reply.header('cache-control', 'no-store').send(success(accountView(account)));
    },
  });

  app.patch<{ Params: { id: string }; Body: ChangeAccount }>('/admin/accounts/:id', {
    schema: {
      operationId: 'changeAccount',
      tags,
      security,
      summary: 'Change the name, the limits or the isolation of an account, suspend or resume it',
      description: 'Holds within a second. The keys of a suspended account work again when it is resumed.',
      params: { type: 'object', properties: { id: { type: 'string', description: 'The id of the account.' } } },
      body: changeAccountSchema,
      response: {
        200: successAnswer('The account as it stands.', accountSchema, {
          changed: example('Changed', success(accountExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', 'UNAUTHORIZED', 'NOT_FOUND', 'INTERNAL_ERROR']),
      },
    },
    config: { requestExamples: bodyExamples.changeAccount },
    ...jsonBody(changeAccountSchema),
    handler: async (request, reply) => {
      if (Object.keys(request.body).length === 0) {
        const fields = Object.keys(changeAccountSchema.properties).join(', ');
        throw new ServiceError('VALIDATION_ERROR', `the body must name at least one of ${fields}`);
      }
      const { id } = request.params;
      // An account of an older version gets its limits written down here.
      const changed = await accounts.change(id, (record) =>
        changedAccount(withDefaultLimits(record, defaultLimits), request.body, now()),
      );
      if (changed === null) throw new ServiceError('NOT_FOUND', 'There is no account of this id.');
      authenticator.forgetAccount(id);
      return reply
        .header('cache-control', 'no-store')
        .send(success(accountView(withDefaultLimits(changed, defaultLimits))));
    },
  });
}
