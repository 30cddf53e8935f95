import type { AccountView, UsageView } from '@webcapture/shared/api/account.ts';
import type { AdminCapture, AdminUsage, DeadLetter, Overview } from '@webcapture/shared/api/admin.ts';
import type { KeyView, NewKeyView } from '@webcapture/shared/api/api-key.ts';
import type {
  CaptureResult,
  CaptureState,
  FailedCapture,
  PendingCapture,
  WebhookView,
} from '@webcapture/shared/api/capture.ts';
import type { CaptureEvent, CaptureProgress } from '@webcapture/shared/api/capture-event.ts';
import type { CaptureHistory } from '@webcapture/shared/api/capture-history.ts';
import type { Delivery } from '@webcapture/shared/api/delivery.ts';
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { UsageHistoryView } from '@webcapture/shared/api/usage-history.ts';
import type { OverallStatus } from '@webcapture/shared/api/status.ts';
import type { WebhookSecretView } from '@webcapture/shared/api/webhook.ts';
import { example } from './answers.ts';

/** Examples in the OpenAPI document. A test validates each against its schema. */

export const requestExamples = {
  minimal: example('Minimal request', { url: 'https://example.com/' }),
  fullPage: example('Full page as JPEG, rendered in Europe', {
    url: 'https://example.com/article',
    format: 'jpeg',
    quality: 85,
    isFullPage: true,
    viewport: { width: 1440, height: 900, deviceScaleFactor: 2 },
    waitUntil: 'networkidle',
    region: 'eu-west',
    block: { ads: true, cookieBanners: true },
  }),
  html: example('Supplied HTML, with the file as the response', {
    html: '<!doctype html><title>Invoice</title><h1>Invoice 42</h1>',
    responseType: 'file',
  }),
  pdf: example('A PDF', {
    url: 'https://example.com/report',
    format: 'pdf',
    pdf: { paper: 'A4', landscape: true, margin: { top: '2cm', bottom: '2cm' } },
  }),
  report: example('A PDF with page numbers and bookmarks', {
    url: 'https://example.com/report',
    format: 'pdf',
    pdf: {
      margin: { top: '2cm', bottom: '2cm' },
      footerTemplate:
        '<div style="font-size: 10px; width: 100%; text-align: center"><span class="pageNumber"></span> of <span class="totalPages"></span></div>',
      pageRanges: '2-',
      outline: true,
    },
  }),
  extract: example('Text for an agent in addition to the image', {
    url: 'https://example.com/',
    extract: ['markdown', 'links', 'metadata'],
  }),
};

const uuid = '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77';
const fileName = `${uuid}-5f2b8c1d9e3a4f60718293a4b5c6d7e8.png`;
const fileUrl = `https://cdn.example.com/${fileName}`;
const viewport = { width: 1280, height: 720, deviceScaleFactor: 1 };

export const resultExample: CaptureResult = {
  uuid,
  status: 'completed',
  fileUrl,
  fromCache: false,
  tokenCost: 1,
  fileSizeBytes: 48_213,
  processingTimeMs: 1432,
  region: 'us-east',
  metadata: {
    url: 'https://example.com/',
    capturedAt: '2025-08-19T09:30:01.432Z',
    createdAt: 1_755_595_801,
    format: 'png',
    mimeType: 'image/png',
    fileSizeBytes: 48_213,
    width: 1280,
    height: 720,
    viewport,
    fullPage: false,
    expiresAt: '2025-08-20T09:30:01.432Z',
  },
  report: {
    httpStatus: 200,
    finalUrl: 'https://example.com/',
    title: 'Example Domain',
    images: { loaded: 3, failed: 0, pending: 0 },
    blockedRequests: 0,
    softTimeouts: [],
    strategy: 'single',
    truncated: false,
    blank: false,
    challenge: false,
    timings: { queueMs: 4, navigateMs: 911, settleMs: 203, shootMs: 260, storeMs: 21 },
  },
};

/** Result of a request with `extract` ["links", "markdown", "metadata"]. */
export const extractedExample: CaptureResult = {
  ...resultExample,
  extracted: {
    markdown:
      '# Example Domain\n\nThis domain is for use in documentation examples.\n\n[Learn more](https://iana.org/domains/example)',
    links: [{ url: 'https://iana.org/domains/example', text: 'Learn more' }],
    metadata: {
      title: 'Example Domain',
      description: null,
      language: 'en',
      canonicalUrl: null,
      openGraph: {},
      icons: [],
    },
  },
};

const asked = { url: 'https://example.com/', format: 'png', viewport, fullPage: false } as const;

export const pendingExample: PendingCapture = {
  uuid,
  status: 'rendering',
  fileUrl,
  fromCache: false,
  tokenCost: 1,
  region: 'us-east',
  acceptedAt: '2025-08-19T09:30:00.000Z',
  metadata: asked,
};

export const refreshExample: CaptureResult = {
  ...resultExample,
  refresh: {
    state: 'queued',
    error: null,
    acceptedAt: '2025-08-19T10:30:00.000Z',
    endedAt: null,
    nextAt: '2025-08-20T09:30:01.432Z',
    tokensCharged: 0,
  },
};

export const queuedExample: PendingCapture = { ...pendingExample, status: 'queued', estimatedWaitSeconds: 4 };

export const failedExample: FailedCapture = {
  uuid,
  status: 'failed',
  fromCache: false,
  tokenCost: 0,
  region: 'us-east',
  processingTimeMs: 312,
  acceptedAt: '2025-08-19T09:30:00.000Z',
  error: { code: 'NAVIGATION_FAILED', message: 'The name "example.com" could not be resolved.', cause: 'page' },
  metadata: asked,
};

interface CapturePage {
  readonly items: readonly CaptureState[];
  readonly nextCursor: string | null;
}

export const captureListExamples: Readonly<Record<'last' | 'scanning', CapturePage>> = {
  last: {
    items: [{ ...pendingExample, uuid: '0198c2f0-7f9a-7c21-8e4d-2a1b3c4d5e6f' }, resultExample],
    nextCursor: null,
  },
  scanning: { items: [], nextCursor: '0190680a-5800-7000-8000-000000000000' },
};

const lastCheckedAt = '2025-08-19T09:30:00.000Z';

export const statusExamples: Readonly<Record<'operational' | 'outage', OverallStatus>> = {
  operational: {
    status: 'operational',
    components: [
      { name: 'api', status: 'operational', lastCheckedAt },
      { name: 'queue', status: 'operational', lastCheckedAt },
      { name: 'storage', status: 'operational', lastCheckedAt },
      { name: 'engine', status: 'operational', responseTimeMs: 840, lastCheckedAt },
      { name: 'engine.us-east', status: 'operational', responseTimeMs: 840, lastCheckedAt },
    ],
    lastCheckedAt,
  },
  outage: {
    status: 'major_outage',
    components: [
      { name: 'api', status: 'operational', lastCheckedAt },
      { name: 'engine', status: 'major_outage', message: 'No renderer is live.', lastCheckedAt },
    ],
    lastCheckedAt,
  },
};

export const statusHistoryExample: StatusHistory = {
  generatedAt: '2025-08-19T09:30:00.000Z',
  components: [
    {
      name: 'engine.us-east',
      observedUntil: '2025-08-19T09:29:57.000Z',
      uptimePercent: 99.29,
      days: [
        { date: '2025-08-18', operational: 86_400 },
        { date: '2025-08-19', operational: 33_351, major_outage: 846 },
      ],
    },
  ],
  incidents: [
    {
      id: 'engine.us-east.20250819T061500000Z',
      component: 'engine.us-east',
      status: 'major_outage',
      startedAt: '2025-08-19T06:15:00.000Z',
      endedAt: '2025-08-19T06:29:06.000Z',
      message: '0 of 2 renderers healthy: 2 missing',
      updates: [
        {
          at: '2025-08-19T06:15:00.000Z',
          status: 'major_outage',
          message: '0 of 2 renderers healthy: 2 missing',
        },
      ],
      interruptions: 0,
    },
  ],
};

/** Examples of accounts and keys. A test validates each against its schema. */

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

const testUrl = 'https://app.example.com/hook';

const attemptExample: Delivery = {
  uuid,
  url: testUrl,
  event: 'capture.completed',
  revision: 0,
  attempt: 1,
  at: '2025-08-19T09:30:01.500Z',
  state: 'retrying',
  status: 503,
  error: 'status 503',
  durationMs: 84,
};

const testAttemptExample: Delivery = {
  uuid: null,
  url: testUrl,
  event: 'webhook.test',
  revision: 0,
  attempt: 1,
  at: '2025-08-19T09:29:40.200Z',
  state: 'delivered',
  status: 204,
  error: null,
  durationMs: 61,
};

export const deliveriesExample: readonly Delivery[] = [attemptExample, testAttemptExample];

export const redeliveryExample: WebhookView = {
  url: testUrl,
  state: 'pending',
  event: 'capture.completed',
  attempts: 0,
  lastStatus: null,
  lastError: null,
  nextAttemptAt: null,
};

export const historyExample: CaptureHistory = {
  options: { isFullPage: true, persistence: { enabled: true, refreshInterval: 86_400 } },
  refreshes: [
    {
      number: 1,
      by: 'interval',
      state: 'completed',
      acceptedAt: '2025-08-19T10:30:01.000Z',
      endedAt: '2025-08-19T10:30:02.310Z',
      error: null,
      fileSizeBytes: 48_377,
      width: 1280,
      height: 720,
    },
  ],
  deliveries: [attemptExample],
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
  testWebhook: { test: example('A test event', { url: testUrl }) },
  rotateWebhookSecret: { hour: example('Keep the old secret valid for an hour', { graceSeconds: 3600 }) },
};

/** The fleet overview in the OpenAPI document. */

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

export const captureEventExample: CaptureEvent = { uuid, status: 'completed', refresh: null };

export const progressExamples: readonly CaptureProgress[] = (['queued', 'rendering', 'storing'] as const).map(
  (step) => ({ uuid, region: 'us-east', step }),
);

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
    uuid,
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
    uuid,
    account: accountId,
    region: 'us-east',
    reason: 'max_deliveries',
    deliveries: 3,
  },
];
