import { expect, test } from 'vitest';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureView } from '@webcapture/shared/captures/view.ts';
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

test('a completed capture tells of its file, and where it was rendered', () => {
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
])('%d ms later it is %s', (later, status) => {
  expect(captureView(completed, { ...options, now: acceptedAt + later }).status).toBe(status);
});

test.each(['queued', 'rendering'] as const)('a %s capture tells where its file will be', (status) => {
  expect(captureView({ ...open, status }, options)).toEqual({
    uuid: open.uuid,
    status,
    fileUrl: 'https://cdn.test/name.png',
    fromCache: false,
    tokenCost: 2,
    region: 'us-east',
    acceptedAt: '2025-08-19T09:30:00.000Z',
    metadata: { url: open.url, format: 'png', viewport: open.options.viewport, fullPage: false },
  });
});

test('a failed capture tells why, and costs nothing', () => {
  const failure = { code: 'PAGE_TOO_LARGE', message: 'Too tall.' } as const;
  const view = captureView({ ...open, status: 'failed', failure, endedAt: acceptedAt + 10 }, options);
  expect(view).toMatchObject({ status: 'failed', tokenCost: 0, processingTimeMs: 10, error: failure });
  expect(view).not.toHaveProperty('fileUrl');
});

test('clocks that differ make no negative time, and no account is shown', () => {
  const view = captureView({ ...completed, endedAt: acceptedAt - 100 }, options);
  expect(view).toMatchObject({ processingTimeMs: 0 });
  expect(JSON.stringify(view)).not.toContain('secret-account');
});
