import { usageSchema } from '@webcapture/shared/api/account.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import type { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { periodOf } from '@webcapture/shared/captures/times.ts';
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../auth/authenticator.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { example, failureAnswers, keyRefusals, sendData, successAnswer } from './answers.ts';
import { usageExample } from './examples.ts';

export interface UsageDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly usage: Pick<AccountUsage, 'read'>;
  readonly limiter: Pick<Limiter, 'inFlight'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET /usage: how the key's account stands. */
export function usageRoute(app: FastifyInstance, { authenticator, usage, limiter, now }: UsageDeps): void {
  app.get('/usage', {
    schema: {
      operationId: 'getUsage',
      tags: ['account'],
      summary: 'Get the usage, quota and limits of the account',
      description: 'Requires the scope read. Failed captures and responses from the cache cost nothing.',
      security: [{ apiKey: [] }],
      response: {
        200: successAnswer('Usage of the current calendar month (UTC).', usageSchema, {
          usage: example('Usage within a month', success(usageExample)),
        }),
        ...failureAnswers(keyRefusals),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const time = now();
      const period = periodOf(time);
      const [{ tokens, reserved, queued }, inFlight] = await Promise.all([
        usage.read(account.id, time, 'exact'),
        limiter.inFlight(account.id),
      ]);
      return sendData(reply, {
        tokensUsed: tokens,
        tokensReserved: reserved,
        tokenQuota: account.tokenQuota,
        periodStart: new Date(period.start).toISOString(),
        periodEnd: new Date(period.end).toISOString(),
        ratePerMinute: account.ratePerMinute,
        inFlight,
        queued,
      });
    },
  });
}
