import {
  type AdminUsage,
  type AdminUsageQuery,
  adminUsageQuerySchema,
  adminUsageSchema,
  maxAccountFailures,
} from '@webcapture/shared/api/admin.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import type { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { UsageHistory } from '@webcapture/shared/statistics/statistics.ts';
import { addDay, countsOf, newDay, type UsageDay } from '@webcapture/shared/statistics/usage-day.ts';
import type { ErrorCode } from '@webcapture/shared/runtime/errors.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FastifyInstance } from 'fastify';
import { callNats } from '../nats.ts';
import { pageQueryOf } from '../validation/input.ts';
import { adminOperation, adminRefusals, example, failureAnswers, sendData, successAnswer } from './answers.ts';
import { adminUsageExample } from './account-examples.ts';

export interface AdminUsageDeps {
  readonly session: NatsSession;
  readonly accounts: Accounts;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET /admin/usage: the accounts that use the service most. */
export function adminUsageRoute(app: FastifyInstance, { session, accounts, now }: AdminUsageDeps): void {
  const usageHistory = new UsageHistory(session);
  app.get<{ Querystring: AdminUsageQuery }>('/admin/usage', {
    schema: {
      operationId: 'getUsageByAccount',
      ...adminOperation,
      summary: 'Get the usage of all accounts, and their most frequent errors',
      description:
        'Accounts with the most tokens first. The numbers are those of GET /usage/history: up to ten seconds old, and without counts that a killed front had not written.',
      querystring: adminUsageQuerySchema,
      response: {
        200: successAnswer('The usage.', adminUsageSchema, {
          usage: example('One account', success(adminUsageExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...adminRefusals]),
      },
    },
    ...pageQueryOf(adminUsageQuerySchema),
    handler: async (request, reply) => {
      const { days, limit } = request.query;
      const read = async (): Promise<AdminUsage> => {
        const sums = [...(await usageHistory.sumByAccount(days, now()))];
        const most = sums.toSorted(([, a], [, b]) => b.tokens - a.tokens || b.failed - a.failed).slice(0, limit);
        return { accounts: await Promise.all(most.map(viewOf)), totals: totalsOf(sums.map(([, sum]) => sum)) };
      };
      return sendData(reply, await callNats(read, 'The usage cannot be read right now.'));
    },
  });

  async function viewOf([account, sum]: readonly [string, UsageDay]): Promise<AdminUsage['accounts'][number]> {
    const name = (await accounts.get(account))?.value.name ?? null;
    return { account, name, ...countsOf(sum), failures: failuresOf(sum) };
  }
}

function failuresOf({ failures = {} }: UsageDay): AdminUsage['accounts'][number]['failures'] {
  return Object.entries(failures)
    .map(([code, count]) => ({ code: code as ErrorCode, count }))
    .toSorted((a, b) => b.count - a.count || a.code.localeCompare(b.code))
    .slice(0, maxAccountFailures);
}

function totalsOf(sums: readonly UsageDay[]): AdminUsage['totals'] {
  const total = newDay();
  for (const sum of sums) addDay(total, sum);
  return { accounts: sums.length, ...countsOf(total) };
}
