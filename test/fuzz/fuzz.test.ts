// @module-tag long
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('run.ts', import.meta.url));

// The seed is fixed. The nightly workflow looks for new bugs with a new seed, but a change must not fail because of a bug that it did not
// cause.
test('one minute of inputs of one seed reveals no bug', async () => {
  const { ended, output } = await new Promise<{ ended: object; output: string }>((resolve) => {
    execFile(process.execPath, [program, '--minutes', '1', '--seed', '1'], (error, stdout, stderr) => {
      resolve({ ended: { code: error?.code ?? 0, signal: error?.signal ?? null }, output: `${stdout}\n${stderr}` });
    });
  });
  // The output contains the seed.
  expect(ended, output).toEqual({ code: 0, signal: null });
  expect(output).toContain('nothing found');
});
