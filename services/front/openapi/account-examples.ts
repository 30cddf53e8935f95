import type { AccountView, UsageView } from '@webcapture/shared/contract/account.ts';
import type { KeyView, NewKeyView } from '@webcapture/shared/contract/api-key.ts';
import type { WebhookSecretView } from '@webcapture/shared/contract/webhook-secret.ts';
import { example } from './answers.ts';

/** What the document shows of accounts and keys. A test holds each of these against the schema that it stands beside. */

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
  isolation: 'context',
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
};

export const webhookSecretExample: WebhookSecretView = { secret: 'whsec_…', previous: [] };

export const rotatedSecretExample: WebhookSecretView = {
  secret: 'whsec_…',
  previous: [{ secret: 'whsec_…', signsUntil: '2025-08-20T09:30:00.000Z' }],
};

export const bodyExamples = {
  createAccount: {
    limits: example('With limits of its own', { name: 'Example Ltd', tokenQuota: 5000, maxInFlight: 5 }),
  },
  changeAccount: {
    suspend: example('Suspend', { suspended: true }),
    limits: example('More', { tokenQuota: 50_000 }),
    isolation: example('A browser for each capture', { isolation: 'browser' }),
  },
  createAccountKey: { first: example('The first key', { accountId, name: 'First key' }) },
  createKey: { reader: example('A key that reads only', { name: 'Report', scopes: ['read'] }) },
  rotateKey: { day: example('The old key works for a day', { graceSeconds: 86_400 }) },
  rotateWebhookSecret: { hour: example('The old secret signs for another hour', { graceSeconds: 3600 }) },
};
