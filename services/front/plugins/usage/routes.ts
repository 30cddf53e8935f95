import { usageSchema } from '@webcapture/shared/api/account.ts';
import {
  type UsageHistoryQuery,
  usageHistoryQuerySchema,
  usageHistorySchema,
  type UsageHistoryView,
} from '@webcapture/shared/api/usage-history.ts';
import {
  percentilesOf,
  addDay,
  type Counts,
  countsOf,
  maxKeys,
  newDay,
  otherKeys,
  type UsageDay,
} from '@webcapture/shared/statistics/usage-day.ts';
import { UsageHistory } from '@webcapture/shared/statistics/statistics.ts';
import { success } from '@webcapture/shared/api/envelope.ts';
import type { AccountUsage } from '@webcapture/shared/accounts/account-usage.ts';
import type { Limiter } from '@webcapture/shared/accounts/limiter.ts';
import { periodOf } from '@webcapture/shared/captures/times.ts';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import type { FastifyInstance } from 'fastify';
import { embeddedBytes } from '@webcapture/shared/accounts/byte-limits.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Keys } from '../../auth/keys.ts';
import type { EmbeddedShare } from '../../byte-quota.ts';
import { authenticateFirst, callerOf } from '../../http/request-facts.ts';
import { example, failureAnswers, keyRefusals, sendData, successAnswer } from '../../api/answers.ts';
import { usageExample, usageHistoryExample } from '../../api/account-examples.ts';
import { pageQueryOf } from '../../validation/input.ts';
import { callNats } from '../../nats.ts';

export interface UsageDeps {
  readonly authenticator: Authenticator;
  readonly usage: AccountUsage;
  readonly limiter: Limiter;
  readonly embeddedShare: EmbeddedShare;
  readonly session: NatsSession;
  readonly keys: Keys;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** GET /usage returns the current usage of the key's account, GET /usage/history its past usage. */
export function usageRoutes(app: FastifyInstance, deps: UsageDeps): void {
  usageRoute(app, deps);
  historyRoute(app, deps);
}

function usageRoute(app: FastifyInstance, { authenticator, usage, limiter, embeddedShare, now }: UsageDeps): void {
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
      const [used, inFlight] = await Promise.all([usage.read(account.id, time, 'exact'), limiter.inFlight(account.id)]);
      return sendData(reply, {
        tokensUsed: used.tokens,
        tokensReserved: used.reserved,
        tokenQuota: account.tokenQuota,
        periodStart: new Date(period.start).toISOString(),
        periodEnd: new Date(period.end).toISOString(),
        ratePerMinute: account.ratePerMinute,
        inFlight,
        queued: used.queued,
        queuedBytes: used.queuedBytes,
        maxQueuedBytes: account.maxQueuedBytes,
        storedBytes: used.storedBytes,
        maxStoredBytes: account.maxStoredBytes,
        persistedBytes: used.persistedBytes + used.keptHtmlBytes,
        maxPersistedBytes: account.maxPersistedBytes,
        embeddedBytes: embeddedBytes(used, embeddedShare),
        maxEmbeddedBytes: embeddedShare.limit()?.maxEmbeddedBytes ?? null,
      });
    },
  });
}

function historyRoute(app: FastifyInstance, { authenticator, session, keys, now }: UsageDeps): void {
  const usageHistory = new UsageHistory(session);
  app.get<{ Querystring: UsageHistoryQuery }>('/usage/history', {
    schema: {
      operationId: 'getUsageHistory',
      tags: ['account'],
      summary: 'Get the usage of the account by day and by API key',
      description:
        'Requires the scope read, which also shows the names and IDs of the keys of the account here. Fronts write their counts every ten seconds; counts that a front had not written before it was killed are missing. GET /usage is exact.',
      security: [{ apiKey: [] }],
      querystring: usageHistoryQuerySchema,
      response: {
        200: successAnswer('The history.', usageHistorySchema, {
          days: example('Two days', success(usageHistoryExample)),
        }),
        ...failureAnswers(['VALIDATION_ERROR', ...keyRefusals]),
      },
    },
    onRequest: authenticateFirst(authenticator, 'read'),
    ...pageQueryOf(usageHistoryQuerySchema),
    handler: async (request, reply) => {
      const { account } = callerOf(request);
      const read = async () => {
        const days = await usageHistory.read(account.id, request.query.days, now());
        const used = usedKeys(days.map(({ day }) => day));
        const names = await keys.names(
          account.id,
          used.map(([id]) => id),
        );
        return historyView(days, used, names);
      };
      return sendData(reply, await callNats(read, 'The usage history cannot be read right now.'));
    },
  });
}

/** Sums up the days by API key, most tokens first. Keys beyond the maximum are combined into one entry. */
function usedKeys(days: readonly UsageDay[]): readonly [id: string, counts: Counts][] {
  const sums = new Map<string, Counts>();
  const addTo = (id: string, { tokens, completed, failed, cached }: Counts) => {
    const sum = sums.get(id) ?? { tokens: 0, completed: 0, failed: 0, cached: 0 };
    sum.tokens += tokens;
    sum.completed += completed;
    sum.failed += failed;
    sum.cached += cached;
    sums.set(id, sum);
  };
  for (const [id, counts] of days.flatMap(({ keys }) => Object.entries(keys))) addTo(id, counts);
  const requests = ({ completed, failed, cached }: Counts) => completed + failed + cached;
  const named = [...sums]
    .filter(([id]) => id !== otherKeys)
    .toSorted(([, a], [, b]) => b.tokens - a.tokens || requests(b) - requests(a));
  for (const [id, counts] of named.slice(maxKeys)) {
    sums.delete(id);
    addTo(otherKeys, counts);
  }
  const others = sums.get(otherKeys);
  return [...named.slice(0, maxKeys), ...(others === undefined ? [] : [[otherKeys, others] as [string, Counts]])];
}

function historyView(
  days: readonly { readonly date: string; readonly day: UsageDay }[],
  used: readonly [id: string, counts: Counts][],
  names: ReadonlyMap<string, string>,
): UsageHistoryView {
  const total = newDay();
  for (const { day } of days) addDay(total, day);
  const ended = total.completed + total.failed;
  return {
    days: days.map(({ date, day }) => ({ date, ...countsOf(day), latencyMs: percentilesOf(day.latency) })),
    keys: used.map(([id, counts]) => {
      const name = id === otherKeys ? 'All other keys' : (names.get(id) ?? id);
      return { id, name, ...countsOf(counts) };
    }),
    totals: {
      ...countsOf(total),
      successRate: ended === 0 ? null : total.completed / ended,
      latencyMs: percentilesOf(total.latency),
    },
  };
}
