import { execFile, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = fileURLToPath(new URL('../../.cache/contract/', import.meta.url));

/**
 * The folder of the programs of a Python package, in a virtual environment of its own under .cache: made when it is not
 * there yet.
 *
 * @param requirement such as `schemathesis==4.32.5`
 */
export async function pythonTool(requirement: string): Promise<string> {
  const folder = join(cache, requirement);
  const complete = join(folder, 'complete');
  const isComplete = await access(complete).then(
    () => true,
    () => false,
  );
  if (!isComplete) {
    await rm(folder, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', folder]);
    await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', requirement]);
    await writeFile(complete, '');
  }
  return join(folder, 'bin');
}

/** Runs a program with the output of this process, and gives its exit code. */
export async function runLoudly(
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'>,
): Promise<number> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
