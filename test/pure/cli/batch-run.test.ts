import { type Webcapture, WebcaptureError } from '@webcapture/client';
import { expect, test } from 'vitest';
import { makeEntries } from '../../../services/cli/batch/entries.ts';
import { chooseFiles } from '../../../services/cli/batch/file-names.ts';
import type { Journal } from '../../../services/cli/batch/journal.ts';
import { BatchRun } from '../../../services/cli/batch/runner.ts';

/** Two captures that fail one shortly after the other: the first for itself, the second for all. */
async function runWithTwoErrors(stepsBetween: number): Promise<void> {
  const entries = makeEntries(
    ['first', 'second'].map((name) => ({ place: name, request: { url: `https://example.com/${name}` } })),
    {},
  );
  const bothSent = Promise.withResolvers<void>();
  const capture = async ({ url }: { url?: string }) => {
    if (url?.endsWith('/first') === true) {
      await bothSent.promise;
      throw new WebcaptureError('PAGE_TOO_LARGE', 'The page is too large.');
    }
    bothSent.resolve();
    for (let step = 0; step < stepsBetween; step++) await undefined;
    throw new WebcaptureError('QUOTA_EXCEEDED', 'The quota is used up.', { status: 402 });
  };
  const run = new BatchRun(
    {
      client: { capture } as unknown as Webcapture,
      journal: { states: new Map(), write: async () => undefined } as unknown as Journal,
      folder: '',
      entries,
      files: chooseFiles(entries, new Map()),
      maxConcurrency: 2,
      maxRetries: 0,
      signal: new AbortController().signal,
      onEvent: () => undefined,
    },
    new Set(),
  );
  await run.run();
}

test('an error that ends a batch is not lost beside that of another entry', async () => {
  for (let steps = 0; steps < 40; steps++) {
    await expect(runWithTwoErrors(steps), `${steps} steps`).rejects.toThrow('The quota is used up.');
  }
});
