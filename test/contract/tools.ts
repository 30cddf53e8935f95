import { execFile, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = fileURLToPath(new URL('../../.cache/contract/', import.meta.url));

/**
 * Returns the folder of the programs of a Python package. The package is installed once, in a virtual environment under .cache.
 *
 * @param requirement such as `schemathesis==4.32.5`
 */
export async function pythonTool(requirement: string): Promise<string> {
  const folder = await keptFolder(requirement, async (made) => {
    await run('python3', ['-m', 'venv', made]);
    await run(join(made, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', requirement]);
  });
  return join(folder, 'bin');
}

/**
 * Returns the folder of an npm package. The package is installed once, in a separate folder under .cache, because it has many dependencies
 * that the project does not need.
 *
 * @param specifier such as `@modelcontextprotocol/inspector@2.12.0`
 */
export async function npmTool(specifier: string): Promise<string> {
  const folder = await keptFolder(specifier.replaceAll('/', '+'), async (made) => {
    await mkdir(made, { recursive: true });
    await writeFile(join(made, 'package.json'), '{ "private": true }');
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', specifier], { cwd: made });
  });
  return join(folder, 'node_modules', specifier.slice(0, specifier.lastIndexOf('@')));
}

/** Returns a folder under .cache. Fills it again until that has succeeded once. */
async function keptFolder(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cache, name);
  const complete = join(folder, 'complete');
  const isComplete = await access(complete).then(
    () => true,
    () => false,
  );
  if (isComplete) return folder;
  await rm(folder, { recursive: true, force: true });
  await fill(folder);
  await writeFile(complete, '');
  return folder;
}

/** Runs a program with the output streams of this process, and returns its exit code. */
export async function runLoudly(
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'>,
): Promise<number> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
