import type { AccountView, UsageView } from '@webcapture/shared/api/account.ts';
import type { AdminCapture, AdminUsage, DeadLetter, Overview } from '@webcapture/shared/api/admin.ts';
import type { KeyView, NewKeyView } from '@webcapture/shared/api/api-key.ts';
import type { UsageHistoryView } from '@webcapture/shared/api/usage-history.ts';
import type { WebhookSecretView } from '@webcapture/shared/api/webhook.ts';
import { example } from './answers.ts';
import { resultExample } from './capture-examples.ts';

/** Examples of accounts, keys and the fleet in the OpenAPI document. A test validates each against its schema. */

const accountId = '0198c2f0-1a2b-7c3d-8e4f-5a6b7c8d9e0f';

export const accountExample: AccountView = {
  id: accountId,
  name: 'Example Ltd',
  createdAt: '2025-08-19T09:30:00.000Z',
  tokenQuota: 100_000,
  ratePerMinute: 120,
  burst: 120,
  maxInFlight: 20,
  maxQueued: 10_000,
  maxQueuedBytes: 1_073_741_824,
  maxStoredBytes: 107_374_182_400,
  maxPersistedBytes: 107_374_182_400,
  isolation: 'context',
  allowIgnoreTlsErrors: false,
  suspended: false,
  suspendedAt: null,
};

export const keyExample: KeyView = {
  id: '0198c2f0-7f6e-7d5c-8b4a-392817060504',
  accountId,
  name: 'Build server',
  scopes: ['capture', 'read'],
  status: 'active',
  createdAt: '2025-08-19T09:30:00.000Z',
  createdBy: '0198c2f0-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
  expiresAt: null,
  revokedAt: null,
};

export const newKeyExample: NewKeyView = { ...keyExample, key: 'wc_live_…' };

export const usageExample: UsageView = {
  tokensUsed: 1234,
  tokensReserved: 12,
  tokenQuota: 100_000,
  periodStart: '2025-08-01T00:00:00.000Z',
  periodEnd: '2025-09-01T00:00:00.000Z',
  ratePerMinute: 120,
  inFlight: 3,
  queued: 12,
  queuedBytes: 48_213,
  maxQueuedBytes: 1_073_741_824,
  storedBytes: 391_238_120,
  maxStoredBytes: 107_374_182_400,
  persistedBytes: 12_582_912,
  maxPersistedBytes: 107_374_182_400,
  embeddedBytes: 403_869_245,
  maxEmbeddedBytes: 2_684_354_560,
};

const latencyMs = { p50: 1310, p90: 2870, p99: 6540 };

export const usageHistoryExample: UsageHistoryView = {
  days: [
    { date: '2025-08-18', tokens: 0, completed: 0, failed: 0, cached: 0, latencyMs: null },
    { date: '2025-08-19', tokens: 130, completed: 118, failed: 2, cached: 40, latencyMs },
  ],
  keys: [
    {
      id: '0198c2f0-7f6e-7d5c-8b4a-392817060504',
      name: 'Build server',
      tokens: 130,
      completed: 118,
      failed: 2,
      cached: 40,
    },
  ],
  totals: { tokens: 130, completed: 118, failed: 2, cached: 40, successRate: 118 / 120, latencyMs },
};

export const webhookSecretExample: WebhookSecretView = { secret: 'whsec_…', previous: [] };

export const rotatedSecretExample: WebhookSecretView = {
  secret: 'whsec_…',
  previous: [{ secret: 'whsec_…', signsUntil: '2025-08-20T09:30:00.000Z' }],
};

export const bodyExamples = {
  createAccount: {
    limits: example('An account with its own limits', { name: 'Example Ltd', tokenQuota: 5000, maxInFlight: 5 }),
  },
  changeAccount: {
    suspend: example('Suspend an account', { suspended: true }),
    limits: example('Raise the token quota', { tokenQuota: 50_000 }),
    isolation: example('Use a separate browser for each capture', { isolation: 'browser' }),
    ignoreTlsErrors: example('Allow requests to ignore TLS errors', { allowIgnoreTlsErrors: true }),
  },
  createAccountKey: { first: example('First API key of an account', { accountId, name: 'First key' }) },
  createKey: { reader: example('A read-only API key', { name: 'Report', scopes: ['read'] }) },
  rotateKey: { day: example('Keep the old key valid for a day', { graceSeconds: 86_400 }) },
  testWebhook: { test: example('A test event', { url: 'https://app.example.com/hook' }) },
  rotateWebhookSecret: { hour: example('Keep the old secret valid for an hour', { graceSeconds: 3600 }) },
};

export const overviewExample: Overview = {
  at: '2025-08-19T09:30:02.000Z',
  status: 'operational',
  regions: [
    {
      region: 'us-east',
      installed: true,
      renderers: 1,
      slots: 4,
      busy: 3,
      queued: { interactive: 0, background: 120 },
      status: 'operational',
      meanRenderMs: 1380,
      pods: [{ pod: 'webcapture-us-east-7d9c-x2x4k', slots: 4, busy: 3, version: '0.2.0', ageMs: 840 }],
    },
  ],
  retired: { captures: 3, regions: [{ region: 'eu-west', captures: 3 }] },
  clusters: [
    {
      name: 'webcapture/webcapture/us-east',
      namespace: 'webcapture',
      version: '0.2.0',
      regions: ['us-east'],
      silentForMs: null,
      problems: [],
    },
  ],
};

export const adminUsageExample: AdminUsage = {
  accounts: [
    {
      account: accountExample.id,
      name: accountExample.name,
      tokens: 1250,
      completed: 1240,
      failed: 12,
      cached: 310,
      failures: [
        { code: 'NAVIGATION_FAILED', count: 9 },
        { code: 'CAPTURE_TIMEOUT', count: 3 },
      ],
    },
  ],
  totals: { accounts: 1, tokens: 1250, completed: 1240, failed: 12, cached: 310 },
};

export const adminCapturesExample: readonly AdminCapture[] = [
  {
    uuid: resultExample.uuid,
    account: accountId,
    host: 'example.com',
    region: 'us-east',
    code: 'NAVIGATION_FAILED',
    message: 'The name "example.com" could not be resolved.',
    durationMs: 312,
    endedAt: '2025-08-19T09:30:00.312Z',
  },
];

export const deadLettersExample: readonly DeadLetter[] = [
  {
    at: '2025-08-19T09:30:12.000Z',
    uuid: resultExample.uuid,
    account: accountId,
    region: 'us-east',
    reason: 'max_deliveries',
    deliveries: 3,
  },
];
