// @module-tag long
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('run.ts', import.meta.url));

test('one minute of new inputs reveals no bug', async () => {
  const { ended, output } = await new Promise<{ ended: object; output: string }>((resolve) => {
    execFile(process.execPath, [program, '--minutes', '1'], (error, stdout, stderr) => {
      resolve({ ended: { code: error?.code ?? 0, signal: error?.signal ?? null }, output: `${stdout}\n${stderr}` });
    });
  });
  // The output contains the seed.
  expect(ended, output).toEqual({ code: 0, signal: null });
  expect(output).toContain('nothing found');
});
