import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compareVersions } from './versions.ts';

/**
 * Returns a function that runs a program to get its version. The run also proves that the architecture fits and that no
 * shared library is missing. It throws an Error with the reason of a failure.
 */
export function inspectProgram(options: { readonly args: readonly string[]; readonly minimum: string }) {
  return async (path: string): Promise<string> => {
    const { stdout } = await promisify(execFile)(path, options.args, { timeout: 15_000 }).catch((error: unknown) => {
      throw new Error(`${path} does not run: ${reasonOf(error)}`, { cause: error });
    });
    const version = /\d+(?:\.\d+)+/.exec(stdout)?.[0];
    if (version === undefined) throw new Error(`${path} does not tell its version`);
    if (compareVersions(version, options.minimum) < 0) {
      throw new Error(`${path} is ${version}, older than ${options.minimum}`);
    }
    return version;
  };
}

function reasonOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  return stderr?.trim().split('\n').at(-1) || (message ?? String(error));
}
