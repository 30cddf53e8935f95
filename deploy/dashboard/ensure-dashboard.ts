import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { glob, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { withFileLock } from '../tools/file-lock.ts';

interface EnsureDashboardOptions {
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
}

const root = resolve(import.meta.dirname, '../..');
const output = join(root, 'services/dashboard/dist');
const cache = join(root, '.cache/dashboard');

/** All files that the build depends on. */
const sources = [
  'services/dashboard/**/*.{ts,tsx,css,html,svg}',
  'services/client/*.ts',
  'services/shared/{api,runtime}/*.ts',
  'package-lock.json',
];

/**
 * Builds the dashboard if its sources have changed; otherwise returns within milliseconds. If several processes call it
 * at once, one of them builds.
 */
export async function ensureDashboard({ log, signal }: EnsureDashboardOptions): Promise<void> {
  const wanted = await hashOfSources();
  if (await isBuilt(wanted)) return;
  const onWait = () => log('dashboard: another process is building it; waiting for it');
  await withFileLock(join(cache, 'lock'), { onWait, signal: signal ?? new AbortController().signal }, async () => {
    if (await isBuilt(wanted)) return;
    log('dashboard: building it');
    const fresh = join(cache, 'fresh');
    // The build runs in a separate process, because Vite reads NODE_ENV, which tests set to another value.
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)(process.execPath, [join(root, 'services/dashboard/build.ts'), fresh], { env, signal });
    await rm(output, { recursive: true, force: true });
    await rename(fresh, output);
    await writeFile(join(cache, 'built-from'), wanted);
  });
}

async function isBuilt(wanted: string): Promise<boolean> {
  const built = await readFile(join(cache, 'built-from'), 'utf8').catch(() => '');
  return built === wanted && existsSync(join(output, 'index.html'));
}

async function hashOfSources(): Promise<string> {
  const names: string[] = [];
  const exclude = (name: string) => /(^|\/)(node_modules|dist)$/.test(name);
  for await (const name of glob(sources, { cwd: root, exclude })) names.push(name);
  const hash = createHash('sha256');
  for (const name of names.sort()) hash.update(`${name}\0`).update(await readFile(join(root, name)));
  return hash.digest('hex');
}
