// @module-tag long
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('run.ts', import.meta.url));

test('finds nothing in a minute of new inputs', async () => {
  // Its output names the seed, and is part of the error when the process exits with another code.
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--minutes', '1']);
  expect(stdout).toContain('nothing found');
});
