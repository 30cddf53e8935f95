import { captureListQuerySchema, type CaptureListQuery } from '@webcapture/shared/contract/capture-list.ts';
import { captureStateSchema } from '@webcapture/shared/contract/capture-state.ts';
import { captureView } from '@webcapture/shared/contract/capture-view.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { pageSchema } from '@webcapture/shared/contract/page.ts';
import type { FastifyInstance } from 'fastify';
import type { FrontDeps } from '../deps.ts';
import { callerOf } from '../http/facts.ts';
import { reach } from '../http/reach.ts';
import { example, failureAnswers, keyRefusals, successAnswer } from '../openapi/answers.ts';
import { captureListExamples } from '../openapi/examples.ts';
import { pageQueryOf } from '../validation/page-query.ts';

const listMs = 3000;

/** GET /captures: the captures of the key's account. */
export function captureListRoute(app: FastifyInstance, deps: FrontDeps): void {
  const { authenticator, captureList, config, now } = deps;
  app.get<{ Querystring: CaptureListQuery }>('/captures', {
    schema: {
      operationId: 'listCaptures',
      tags: ['captures'],
      summary: 'The captures of the account, newest first',
      description:
        'Needs the scope read. A part may have fewer items than limit, or none, and still have a nextCursor: one request looks at so many days and captures at most, and the next one goes on from there. The list ends where nextCursor is null. With status, only the captures that stand so at the moment; one whose file has run out is expired.',
      security: [{ apiKey: [] }],
      querystring: captureListQuerySchema,
      response: {
        200: successAnswer('A part of the list.', pageSchema(captureStateSchema), {
          captures: example('All of two captures', success(captureListExamples.last)),
          scanning: example('Nothing found so far; there may be more', success(captureListExamples.scanning)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    // Before the query is looked at: who may not do this learns nothing about it.
    onRequest: async (request) => {
      const caller = await authenticator.authenticate(request.headers.authorization, 'read');
      request.facts.caller = caller;
      request.facts.account = caller.account.id;
    },
    ...pageQueryOf(captureListQuerySchema),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const time = now();
      const ask = { ...request.query, since: account.createdAt, now: time };
      const list = () => captureList.list(account.id, ask);
      const { records, nextCursor } = await reach(list, listMs, 'The captures cannot be listed right now.');
      const items = records.map((record) => captureView(record, { cdnUrl: config.cdnUrl, now: time }));
      return reply.header('cache-control', 'no-store').send(success({ items, nextCursor }));
    },
  });
}
