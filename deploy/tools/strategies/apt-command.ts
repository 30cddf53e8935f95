import { join } from 'node:path';
import { withFileLock } from '../file-lock.ts';
import { runCommand } from '../run-command.ts';
import type { ToolContext } from '../tool.ts';
import { programsInPath } from './find-in-path.ts';

export const downloadTimeoutMs = 10 * 60_000;

/** Runs apt-get as root and returns its output. Throws an Error with its last line if it fails. */
export type Apt = (
  args: readonly string[],
  limits: { timeoutMs: number; graceMs?: number; patient?: boolean },
) => Promise<string>;

/** Serializes the apt-get calls of this project: apt-get does not wait for another one that updates its lists. */
export function withAptLock<T>(context: ToolContext, work: () => Promise<T>): Promise<T> {
  const onWait = () => context.log('waiting for another apt-get');
  return withFileLock(join(context.cacheDir, 'locks', 'apt.lock'), { onWait, signal: context.signal }, work);
}

/** Returns the apt-get of this machine, run as root. Throws an Error with the reason if that is impossible. */
export async function aptCommand(context: ToolContext): Promise<Apt> {
  const [aptGet] = await programsInPath(['apt-get'], context.env);
  if (process.platform !== 'linux' || aptGet === undefined) throw new Error('there is no apt-get here');
  const isRoot = process.getuid?.() === 0;
  const run = (command: string, args: readonly string[], limits: Parameters<Apt>[1]) =>
    runCommand(command, args, { env: context.env, signal: context.signal, ...limits });
  if (!isRoot) {
    await run('sudo', ['-n', 'true'], { timeoutMs: 10_000 }).catch((error: unknown) => {
      throw new Error('needs root, and sudo is not there or asks for a password', { cause: error });
    });
  }
  const settings = [
    '-q',
    '-o',
    'DPkg::Lock::Timeout=120',
    '-o',
    'Acquire::http::Timeout=20',
    '-o',
    'Acquire::Retries=1',
  ];
  return (args, limits) => {
    const command = ['env', 'DEBIAN_FRONTEND=noninteractive', aptGet, ...settings, ...args];
    const [first = '', ...rest] = isRoot ? command : ['sudo', '-n', ...command];
    return run(first, rest, limits);
  };
}
