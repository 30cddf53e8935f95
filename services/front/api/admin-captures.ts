import {
  adminCapturesQuerySchema,
  type AdminCapturesQuery,
  adminCapturesSchema,
  deadLettersSchema,
} from '@webcapture/shared/api/admin.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import { DeadLetters } from '@webcapture/shared/queue/dead-letters.ts';
import { NotableCaptures } from '@webcapture/shared/statistics/notable-captures.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FastifyInstance } from 'fastify';
import { callNats } from '../nats.ts';
import { pageQueryOf } from '../validation/input.ts';
import { adminOperation, adminRefusals, example, failureAnswers, sendData, successAnswer } from './answers.ts';
import { adminCapturesExample, deadLettersExample } from './account-examples.ts';

export interface AdminCapturesDeps {
  readonly session: NatsSession;
}

/** GET /admin/captures and GET /admin/dead-letters: captures and jobs that an operator may want to investigate. */
export function adminCapturesRoutes(app: FastifyInstance, { session }: AdminCapturesDeps): void {
  const notableCaptures = new NotableCaptures(session);
  const deadLetters = new DeadLetters(session);
  app.get<{ Querystring: AdminCapturesQuery }>('/admin/captures', {
    schema: {
      operationId: 'listNotableCaptures',
      ...adminOperation,
      summary: 'List the slowest or the failed captures of the last 24 hours',
      description:
        'Covers all accounts. Fronts write ended captures every ten seconds, so the newest ones are missing until then. The service keeps the 50 slowest and the last 50 failed captures of every hour, and only the host of each page.',
      querystring: adminCapturesQuerySchema,
      response: {
        200: successAnswer('The captures.', adminCapturesSchema, {
          failed: example('A failed capture', success({ captures: adminCapturesExample })),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    ...pageQueryOf(adminCapturesQuerySchema),
    handler: async (request, reply) => {
      const list = () => notableCaptures.list(request.query);
      return sendData(reply, { captures: await callNats(list, 'The captures cannot be read right now.') });
    },
  });

  app.get('/admin/dead-letters', {
    schema: {
      operationId: 'listDeadLetters',
      ...adminOperation,
      summary: 'List jobs that were given up',
      description:
        'Jobs that no renderer completed in three deliveries, or that were terminated. Their captures have failed.',
      response: {
        200: successAnswer('The last 100 dead letters, newest first.', deadLettersSchema, {
          one: example('One dead letter', success({ deadLetters: deadLettersExample })),
        }),
        ...failureAnswers(adminRefusals),
      },
    },
    handler: async (_request, reply) => {
      const read = () => deadLetters.list();
      return sendData(reply, { deadLetters: await callNats(read, 'The dead letters cannot be read right now.') });
    },
  });
}
