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
import type { Diagnostics } from '@webcapture/shared/api/diagnostics.ts';
import type { Extracted } from '@webcapture/shared/api/extracted.ts';
import { example } from './answers.ts';

/** Examples of captures in the OpenAPI document. A test validates each against its schema. */

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
  login: example('A page behind a login form', {
    url: 'https://example.com/login',
    steps: [
      { type: { selector: '#user', text: 'ann' } },
      { type: { selector: '#password', text: 'the password of ann' } },
      { press: { selector: '#password', key: 'Enter' } },
      { waitFor: '.account' },
    ],
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
  fields: example('Named fields of the page, without a picture', {
    url: 'https://shop.example.com/lamps',
    format: 'none',
    extractFields: {
      title: 'h1',
      lamps: {
        selector: '.product',
        list: true,
        fields: { name: 'h2', url: { selector: 'a', attribute: 'href' } },
      },
    },
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
    responseUrl: 'https://example.com/',
    finalUrl: 'https://example.com/',
    title: 'Example Domain',
    images: { loaded: 3, failed: 0, pending: 0 },
    blockedRequests: 0,
    softTimeouts: [],
    strategy: 'single',
    truncated: false,
    blank: false,
    challenge: false,
    timings: { queueMs: 4, openMs: 15, navigateMs: 911, settleMs: 203, shootMs: 260, storeMs: 21, resultMs: 18 },
  },
};

/** Result in the response to the request that waited for the capture. */
export const awaitedExample: CaptureResult = {
  ...resultExample,
  report: { ...resultExample.report, timings: { ...resultExample.report.timings, answerMs: 12 } },
};

/** Parts of a request with `extract` ["links", "markdown", "metadata"]. */
export const partsExample: Extracted = {
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
};

export const extractedExample: CaptureResult = { ...resultExample, extracted: partsExample };

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

const earlierUrl = `https://cdn.example.com/${uuid}-9c3de4b1a5f60718293a4b5c6d7e8f90.png`;
const comparisonExample = {
  changedShare: 0.0132,
  hasChanged: true,
  differenceUrl: `https://cdn.example.com/${uuid}-0a1b2c3d4e5f60718293a4b5c6d7e8f9.png`,
};

export const changedExample: CaptureResult = {
  ...resultExample,
  refresh: {
    state: 'completed',
    error: null,
    acceptedAt: '2025-08-19T10:30:00.000Z',
    endedAt: '2025-08-19T10:30:02.310Z',
    nextAt: '2025-08-20T09:30:01.432Z',
    tokensCharged: 1,
    comparison: { ...comparisonExample, previousFileUrl: earlierUrl },
  },
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
  options: {
    isFullPage: true,
    persistence: { enabled: true, refreshInterval: 86_400, history: 10, compare: { minShare: 0.01 } },
  },
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
      comparison: comparisonExample,
    },
  ],
  files: [
    {
      fileUrl: earlierUrl,
      capturedAt: '2025-08-18T10:30:02.000Z',
      replacedBy: 1,
      fileSizeBytes: 48_114,
      width: 1280,
      height: 720,
      comparison: comparisonExample,
    },
  ],
  deliveries: [attemptExample],
};

export const captureEventExample: CaptureEvent = { uuid, status: 'completed', refresh: null };

export const progressExamples: readonly CaptureProgress[] = (['queued', 'rendering', 'storing'] as const).map(
  (step) => ({ uuid, region: 'us-east', step }),
);

/** Diagnostics of a failed capture. */
export const diagnosticsExample: Diagnostics = {
  uuid,
  refresh: 0,
  expiresAt: '2026-07-02T09:30:00.000Z',
  startedAt: '2026-07-01T09:29:58.120Z',
  durationMs: 6310,
  error: {
    code: 'CAPTURE_FAILED',
    message: 'selector: no visible element matches "#chart" within 5 seconds after load.',
  },
  pageUrl: 'https://example.com/',
  steps: [
    { name: 'setUp', startMs: 0, durationMs: 40, failed: false },
    { name: 'navigation', startMs: 40, durationMs: 620, failed: false },
    { name: 'settle', startMs: 660, durationMs: 5650, failed: true },
  ],
  waits: [{ what: 'the element', startMs: 700, durationMs: 5000, timedOut: true }],
  console: [
    {
      level: 'exception',
      text: 'TypeError: data is undefined',
      url: 'https://example.com/chart.js',
      line: 12,
      atMs: 610,
    },
  ],
  requests: [
    {
      url: 'https://example.com/data.json',
      method: 'GET',
      type: 'fetch',
      status: 500,
      error: null,
      mimeType: 'application/json',
      bytes: 41,
      startMs: 480,
      waitMs: 96,
      durationMs: 98,
    },
  ],
  requestCount: 7,
  blocked: [],
  moving: { readyState: 'complete', images: [], fonts: [], animations: [] },
  picture: { width: 1280, height: 720, bytes: 18_204 },
};
