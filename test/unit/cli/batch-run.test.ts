import { type Webcapture, WebcaptureError } from '@webcapture/client';
import { expect, test } from 'vitest';
import { makeEntries } from '../../../services/cli/batch/entries.ts';
import { chooseFiles } from '../../../services/cli/batch/file-names.ts';
import type { Journal } from '../../../services/cli/batch/journal.ts';
import { type BatchEvent, BatchRun } from '../../../services/cli/batch/runner.ts';

interface Batch {
  readonly names: readonly string[];
  readonly capture: (request: { url?: string }) => Promise<never>;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: BatchEvent) => void;
}

function runBatch({ names, capture, signal = new AbortController().signal, onEvent = () => undefined }: Batch) {
  const raw = names.map((name) => ({ place: name, request: { url: `https://example.com/${name}` } }));
  const entries = makeEntries(raw, {});
  const options = {
    client: { capture } as unknown as Webcapture,
    journal: { states: new Map(), write: async () => undefined } as unknown as Journal,
    folder: '',
    entries,
    files: chooseFiles(entries, new Map()),
    maxConcurrency: names.length,
    maxRetries: 1,
    signal,
    onEvent,
  };
  return new BatchRun(options, new Set()).run();
}

/** Two captures that fail shortly after each other: the first error concerns its entry, the second ends the batch. */
function runWithTwoErrors(stepsBetween: number): Promise<void> {
  const bothSent = Promise.withResolvers<void>();
  const capture = async ({ url }: { url?: string }) => {
    if (url?.endsWith('/first') === true) {
      await bothSent.promise;
      throw new WebcaptureError('PAGE_TOO_LARGE', 'The page is too large.');
    }
    bothSent.resolve();
    for (let step = 0; step < stepsBetween; step++) await Promise.resolve();
    throw new WebcaptureError('QUOTA_EXCEEDED', 'The quota is used up.', { status: 402 });
  };
  return runBatch({ names: ['first', 'second'], capture });
}

test('an error that ends the batch is thrown even if another entry fails just before it', async () => {
  for (let steps = 0; steps < 40; steps++) {
    await expect(runWithTwoErrors(steps), `${steps} steps`).rejects.toThrow('The quota is used up.');
  }
});

test('a retry event announces the delay that the service requests before the delay begins', async () => {
  const stop = new AbortController();
  const events: BatchEvent[] = [];
  const run = runBatch({
    names: ['busy'],
    capture: () => {
      const details = { status: 503, retryable: true, retryAfterMs: 3_600_000 };
      return Promise.reject(new WebcaptureError('REGION_UNAVAILABLE', 'No renderer is free.', details));
    },
    signal: stop.signal,
    onEvent(event) {
      events.push(event);
      stop.abort(new Error('stopped by the test'));
    },
  });
  await expect(run).rejects.toThrow('stopped by the test');
  expect(events).toMatchObject([{ type: 'retrying', ms: 3_600_000, message: 'No renderer is free.' }]);
});
