import { usageSchema } from '@webcapture/shared/contract/account.ts';
import { success } from '@webcapture/shared/contract/envelope.ts';
import { periodOf } from '@webcapture/shared/state/period.ts';
import type { FastifyInstance } from 'fastify';
import type { FrontDeps } from '../deps.ts';
import { usageExample } from '../openapi/account-examples.ts';
import { example, failureAnswers, keyRefusals, successAnswer } from '../openapi/answers.ts';

/** GET /usage: how the key's account stands. */
export function usageRoute(app: FastifyInstance, { authenticator, usage, admissions, now }: FrontDeps): void {
  app.get('/usage', {
    schema: {
      operationId: 'getUsage',
      tags: ['account'],
      summary: 'Tokens used, quota and limits of the account',
      description: 'Needs the scope read. Captures that failed or came from the cache cost nothing.',
      security: [{ apiKey: [] }],
      response: {
        200: successAnswer('The usage of this calendar month, in UTC.', usageSchema, {
          usage: example('In the middle of a month', success(usageExample)),
        }),
        ...failureAnswers(keyRefusals),
      },
    },
    handler: async (request, reply) => {
      const { account } = await authenticator.authenticate(request.headers.authorization, 'read');
      request.facts.account = account.id;
      const time = now();
      const period = periodOf(time);
      const [{ tokens, reserved, queued }, inFlight] = await Promise.all([
        usage.read(account.id, time, 'exact'),
        admissions.inFlight(account.id),
      ]);
      return reply.header('cache-control', 'no-store').send(
        success({
          tokensUsed: tokens,
          tokensReserved: reserved,
          tokenQuota: account.tokenQuota,
          periodStart: new Date(period.start).toISOString(),
          periodEnd: new Date(period.end).toISOString(),
          ratePerMinute: account.ratePerMinute,
          inFlight,
          queued,
        }),
      );
    },
  });
}
