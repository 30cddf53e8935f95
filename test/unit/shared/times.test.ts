import { expect, test } from 'vitest';
import type { RenderOptions } from '@webcapture/shared/api/capture-request.ts';
import { deadlineOf, maxStoreRetryMs, storeRetryMs } from '@webcapture/shared/captures/times.ts';
import { defaultOptions } from '../../harness/records.ts';

const startBy = 1_000_000;
const lasts = (options: Partial<RenderOptions> = {}) =>
  deadlineOf({ ...defaultOptions, ...options }, startBy) - startBy;

test.each<[Partial<RenderOptions>, number]>([
  [{ timeout: defaultOptions.timeout + 7 }, 7],
  [{ imageTimeout: defaultOptions.imageTimeout + 7 }, 7],
  [{ delay: defaultOptions.delay + 7 }, 7],
  [{ waitFor: { text: 'a', state: 'visible', timeout: 7, required: false } }, 7],
  [{ extract: ['text'] }, 8000],
  [{ extractFields: { title: 'h1' } }, 8000],
  [{ freeze: { time: '2026-01-01T00:00:00.000Z', random: 1 } }, 8000],
  [{ secrets: { pdfEncryption: true } }, 30_000],
  [{ pdf: { ...defaultOptions.pdf, metadata: { title: 'a' } } }, 30_000],
  [{ pdf: { ...defaultOptions.pdf, attachments: [] } }, 30_000],
  // The page that a click or a script opens has the same timeout as the first page.
  [{ click: ['a', 'b'] }, defaultOptions.timeout + 10_000],
  [{ steps: [{ click: 'a' }, { type: { selector: 'b' } }] }, defaultOptions.timeout + 10_000],
  [{ steps: [{ waitFor: 'a' }, { wait: 7 }] }, defaultOptions.timeout + 10_007],
  [{ steps: Array(12).fill({ hover: 'a' }) }, defaultOptions.timeout + 60_000],
  [{ steps: Array(30).fill({ hover: 'a' }) }, defaultOptions.timeout + 60_000],
  [{ secrets: { script: true } }, defaultOptions.timeout + 5000],
])('the deadline of a capture with %j is %i ms later', (options, ms) => {
  expect(lasts(options) - lasts()).toBe(ms);
});

test('options that take no time do not change the deadline', () => {
  expect(lasts({ click: [], secrets: { css: true }, isFullPage: true })).toBe(lasts());
});

test('a capture that could not be stored is retried after 5 s, then after twice as long each time, up to 5 minutes', () => {
  const waits = Array.from({ length: 9 }, (_, index) => ({ ms: storeRetryMs(index + 2), most: 5000 * 2 ** index }));
  for (const { ms, most } of waits) {
    expect(ms).toBeLessThanOrEqual(Math.min(most, maxStoreRetryMs));
    expect(ms).toBeGreaterThanOrEqual(0.75 * Math.min(most, maxStoreRetryMs));
  }
  expect(maxStoreRetryMs).toBe(300_000);
});
