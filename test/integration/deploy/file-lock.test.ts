import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tryFileLock, withFileLock } from '../../../deploy/tools/file-lock.ts';
import { patient, tempDir } from './support.ts';

const lockModule = new URL('../../../deploy/tools/file-lock.ts', import.meta.url).href;
const signal = new AbortController().signal;

test('only one process has the lock', async () => {
  const path = join(await tempDir(), 'folder', 'lock');
  const release = await tryFileLock(path);
  expect(release).toBeDefined();
  expect(await tryFileLock(path)).toBeUndefined();
  release?.();
  const again = await tryFileLock(path);
  expect(again).toBeDefined();
  again?.();
});

test('waiters get the lock one by one, also after a failure', async () => {
  const path = join(await tempDir(), 'lock');
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 20));
    inside--;
    throw new Error('failed');
  };
  const waiters = Array.from({ length: 4 }, () => withFileLock(path, { onWait: () => undefined, signal }, work));
  const outcomes = await Promise.allSettled(waiters);
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'rejected'));
  expect(most).toBe(1);
});

test('the lock of a killed process is free at once', async () => {
  const folder = await tempDir();
  const path = join(folder, 'lock');
  const script = join(folder, 'holder.ts');
  await writeFile(
    script,
    `import { tryFileLock } from '${lockModule}';
     const release = await tryFileLock(${JSON.stringify(path)});
     console.log('held');
     setInterval(() => release, 1000);`,
  );
  const holder = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  expect(await tryFileLock(path)).toBeUndefined();
  holder.kill('SIGKILL');
  await expect.poll(() => tryFileLock(path), patient).toBeDefined();
});
