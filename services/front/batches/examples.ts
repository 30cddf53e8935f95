import type { Batch } from '@webcapture/shared/api/batch.ts';

export const batchRequestExample = {
  requests: [
    { url: 'https://example.com/' },
    { url: 'https://example.com/pricing', viewport: { width: 800 } },
    { html: '<h1>Offer</h1>', format: 'png' },
  ],
  options: { format: 'webp', isFullPage: true },
};

const capture = {
  uuid: '0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77',
  url: 'https://example.com/',
  status: 'queued',
  fromCache: false,
  fileUrl: null,
  error: null,
} as const;

const second = { ...capture, uuid: '0198c2f0-6c1f-7a11-8c55-1d0e6b7f9a20', url: 'https://example.com/pricing' };
const third = { ...capture, uuid: '0198c2f0-6c1f-7c21-8e4d-2a1b3c4d5e6f', url: 'about:blank' };

const counts = { total: 3, queued: 0, rendering: 0, completed: 0, failed: 0, expired: 0, deleted: 0 };

export const acceptedBatchExample: Batch = {
  id: '0198c2f0-6c1d-7b02-a7f4-5c6d7e8f9a0b',
  status: 'processing',
  createdAt: '2025-08-19T09:30:00.000Z',
  endedAt: null,
  counts: { ...counts, queued: 3 },
  tokensCharged: 0,
  captures: [capture, second, third],
};

/** The data of an event `capture` of a batch. */
export const batchEventExample = {
  index: 1,
  uuid: second.uuid,
  status: 'rendering',
  counts: { ...counts, queued: 2, rendering: 1 },
};

export const endedBatchExample: Batch = {
  ...acceptedBatchExample,
  status: 'completed',
  endedAt: '2025-08-19T09:30:07.512Z',
  counts: { ...counts, completed: 2, failed: 1 },
  tokensCharged: 2,
  captures: [
    {
      ...capture,
      status: 'completed',
      fileUrl: 'https://cdn.example.com/0198c2f0-6c1e-7d3a-9b52-3f8e0d4c1a77-5f0c3a9d2b7e41c8a6d9e0f1b2c3d4e5.webp',
    },
    {
      ...second,
      status: 'failed',
      error: { code: 'NAVIGATION_FAILED', message: 'The page could not be opened.' },
    },
    {
      ...third,
      status: 'completed',
      fileUrl: 'https://cdn.example.com/0198c2f0-6c1f-7c21-8e4d-2a1b3c4d5e6f-0a1b2c3d4e5f60718293a4b5c6d7e8f9.png',
    },
  ],
};
