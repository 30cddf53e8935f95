import type { Diagnostics } from '@webcapture/shared/api/diagnostics.ts';
import { resultExample } from './examples.ts';

/** Diagnostics of a failed capture. */
export const diagnosticsExample: Diagnostics = {
  uuid: resultExample.uuid,
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
