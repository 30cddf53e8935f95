import { describe, expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { complete, fail, startRefresh } from '@webcapture/shared/captures/transitions.ts';
import { captureView, resultView, statusOf } from '@webcapture/shared/captures/view.ts';
import { newOutcome, newRecord } from '../../harness/records.ts';

const acceptedAt = Date.parse('2025-08-19T09:30:00.000Z');
const options = { cdnUrl: 'https://cdn.test', now: acceptedAt + 5000 };

const open = newRecord({
  uuid: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77',
  account: 'secret-account',
  tokenCost: 2,
  fileName: 'name.png',
  acceptedAt,
  lifetimeMs: 60_000,
});
const completed: CaptureRecord = {
  ...open,
  status: 'completed',
  endedAt: acceptedAt + 1500,
  outcome: newOutcome({ region: 'eu-west', width: 10, height: 20, capturedAt: acceptedAt + 1432 }),
};

/** The fields of every capture without a file. */
const withoutFile = {
  uuid: open.uuid,
  fromCache: false,
  region: 'us-east',
  acceptedAt: '2025-08-19T09:30:00.000Z',
  metadata: { url: open.url, format: 'png', viewport: open.options.viewport, fullPage: false },
};

test('the metadata of a PDF has the number of pages, and that of an image does not', () => {
  const outcome = newOutcome({ pages: 12 });
  expect(resultView({ ...completed, outcome }, options).metadata.pages).toBe(12);
  expect(resultView(completed, options).metadata).not.toHaveProperty('pages');
});

test('a completed capture has its file, its size and the region that rendered it', () => {
  expect(captureView(completed, options)).toMatchObject({
    status: 'completed',
    fileUrl: 'https://cdn.test/name.png',
    fileSizeBytes: 7,
    tokenCost: 2,
    processingTimeMs: 1500,
    region: 'eu-west',
    metadata: {
      width: 10,
      height: 20,
      fileSizeBytes: 7,
      capturedAt: '2025-08-19T09:30:01.432Z',
      createdAt: Math.floor(acceptedAt / 1000) + 1,
      expiresAt: '2025-08-19T09:31:00.000Z',
    },
  });
});

test.each([
  [59_999, 'completed'],
  [60_000, 'expired'],
])('a completed capture of %d ms ago is %s', (later, status) => {
  expect(captureView(completed, { ...options, now: acceptedAt + later }).status).toBe(status);
});

test.each(['queued', 'rendering'] as const)('a %s capture has the address of its future file', (status) => {
  expect(captureView({ ...open, status }, options)).toEqual({
    ...withoutFile,
    status,
    fileUrl: 'https://cdn.test/name.png',
    tokenCost: 2,
  });
});

test('a failed capture has its error and costs no tokens', () => {
  const failure = { code: 'PAGE_TOO_LARGE', message: 'Too tall.', cause: 'page' } as const;
  const view = captureView({ ...open, status: 'failed', failure, endedAt: acceptedAt + 10 }, options);
  expect(view).toMatchObject({ status: 'failed', tokenCost: 0, processingTimeMs: 10, error: failure });
  expect(view).not.toHaveProperty('fileUrl');
});

test('a clock difference never results in a negative time, and the account is not shown', () => {
  const view = captureView({ ...completed, endedAt: acceptedAt - 100 }, options);
  expect(view).toMatchObject({ processingTimeMs: 0 });
  expect(JSON.stringify(view)).not.toContain('secret-account');
});

test('after a refresh, the processing time is that of the refresh, also when a later refresh has failed', () => {
  const order = { by: 'request', region: 'us-east', startBy: 0, deadline: 0 } as const;
  const start = (revision: number, at: number) => startRefresh({ ...order, revision, acceptedAt: at });
  const [first, second] = [acceptedAt + 10_000, acceptedAt + 20_000];
  const refreshed = [
    [start(1, first), first],
    [complete(1, newOutcome(), open.expiresAt), first + 700],
    [start(2, second), second],
    [fail(2, { code: 'CAPTURE_FAILED', message: 'It did not work.', cause: 'service' }), second + 4000],
  ] as const;
  const record = refreshed.reduce((before, [change, at]) => change(before, at) ?? before, completed);
  expect(captureView(record, options)).toMatchObject({ processingTimeMs: 700, refresh: { state: 'failed' } });
});

test('a capture from the cache costs no tokens, and has the processing time of the request', () => {
  const answered = resultView(completed, { ...options, fromCacheMs: 3 });
  expect(answered).toMatchObject({ fromCache: true, tokenCost: 0, processingTimeMs: 3 });
  expect(resultView(completed, options)).toMatchObject({ fromCache: false, tokenCost: 2, processingTimeMs: 1500 });
  expect(() => resultView(open, options)).toThrow(open.uuid);
});

test.each(['expired', 'deleted'] as const)('a capture that is %s still has the size of its file', (status) => {
  expect(captureView({ ...completed, status }, options)).toMatchObject({ status, fileSizeBytes: 7 });
});

test('a capture that was deleted before it had a file costs no tokens', () => {
  expect(captureView({ ...open, status: 'deleted' }, options)).toEqual({
    ...withoutFile,
    status: 'deleted',
    tokenCost: 0,
  });
});

test('only a completed capture can expire', () => {
  const late = open.expiresAt + 1;
  const shown = (['queued', 'rendering', 'failed', 'completed', 'deleted'] as const).map((status) =>
    statusOf({ ...open, status }, late),
  );
  expect(shown).toEqual(['queued', 'rendering', 'failed', 'expired', 'deleted']);
});

test('the metadata has the names of secrets, but not their values', () => {
  const secrets = { headers: ['X-Team'], auth: true } as const;
  const record = { ...completed, options: { ...completed.options, secrets } };
  const shownSecrets = { headers: ['X-Team'], cookies: [], auth: true, css: false, script: false };
  for (const view of [captureView(record, options), captureView({ ...record, status: 'queued' }, options)]) {
    expect(view.metadata).toMatchObject({ secrets: shownSecrets });
  }
  expect(captureView(completed, options).metadata).not.toHaveProperty('secrets');
});

describe('the refresh of a capture', () => {
  const refresh = {
    revision: 3,
    state: 'failed',
    by: 'interval',
    region: 'us-east',
    acceptedAt,
    startBy: 0,
    deadline: 0,
    failure: { code: 'CAPTURE_FAILED', message: 'It did not work.', cause: 'service' },
    endedAt: acceptedAt + 1000,
  } as const;
  const shown = (changes: Partial<CaptureRecord>) => captureView({ ...completed, ...changes }, options);

  test('is shown only for a capture that is kept', () => {
    expect(shown({})).not.toHaveProperty('refresh');
    expect(shown({ persistence: { refreshIntervalMs: 0 } })).toMatchObject({
      refresh: { state: 'idle', error: null, acceptedAt: null, endedAt: null, nextAt: null, tokensCharged: 0 },
    });
  });

  test('shows the last refresh, and the tokens of all refreshes', () => {
    const refreshCharges = { '202508': { tokens: 4, captures: 2 }, '202509': { tokens: 2, captures: 1 } };
    expect(shown({ refresh, refreshCharges, nextRefreshAt: acceptedAt + 2000 })).toMatchObject({
      refresh: {
        state: 'failed',
        error: refresh.failure,
        acceptedAt: '2025-08-19T09:30:00.000Z',
        endedAt: '2025-08-19T09:30:01.000Z',
        nextAt: '2025-08-19T09:30:02.000Z',
        tokensCharged: 6,
      },
    });
  });
});

test('the webhook is shown in every state, with the event of its last delivery', () => {
  const webhook = { url: 'https://hooks.example/', state: 'waiting', attempts: 0 } as const;
  const none = { event: null, lastStatus: null, lastError: null, nextAttemptAt: null };
  for (const status of ['queued', 'failed', 'completed'] as const) {
    expect(captureView({ ...completed, webhook, status }, options)).toMatchObject({ webhook: { ...webhook, ...none } });
  }
  const tried = { event: 'capture.completed', attempts: 2, lastStatus: 503, lastError: 'it answered 503' } as const;
  const delivered = { ...webhook, ...tried, state: 'pending', nextAttemptAt: acceptedAt } as const;
  expect(captureView({ ...completed, webhook: delivered }, options)).toMatchObject({
    webhook: { ...tried, state: 'pending', nextAttemptAt: '2025-08-19T09:30:00.000Z' },
  });
  expect(captureView(completed, options)).not.toHaveProperty('webhook');
});
